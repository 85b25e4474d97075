"""A statement of the user's code, found by its line: the loops and functions around it, and edits of its text."""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

#: Longer statements are shown by their first lines only: a change has to fit on the screen beside its finding.
_MOST_LINES = 8

Loop = ast.For | ast.While | ast.AsyncFor
Function = ast.FunctionDef | ast.AsyncFunctionDef

#: An expression and the source that replaces it.
Edit = tuple[ast.expr, str]


@dataclass(frozen=True, slots=True)
class Change:
    """An edit of the user's code."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Statement:
    """The innermost statement at a line."""

    lines: list[str]
    """All lines of the file."""
    tree: ast.Module
    node: ast.stmt
    around: tuple[ast.stmt, ...]
    """The statements that enclose it, outermost first."""

    @property
    def loop(self) -> Loop | None:
        """The innermost loop around the statement, in the same function."""
        for node in reversed(self.around):
            if isinstance(node, Loop):
                return node
            if isinstance(node, Function):
                return None
        return None

    @property
    def function(self) -> Function | None:
        """The innermost function around the statement."""
        return next((node for node in reversed(self.around) if isinstance(node, Function)), None)

    def calls(self) -> Iterator[ast.Call]:
        """Iterate over the calls in the statement, outermost first."""
        return (node for node in ast.walk(self.node) if isinstance(node, ast.Call))

    def edited(self, *edits: Edit) -> str:
        """Return the text of the statement with some of its expressions replaced."""
        return self.text(self.node, *edits)

    def text(self, node: ast.stmt, *edits: Edit) -> str:
        """Return any statement of the file as it is written there, or with some of its expressions replaced."""
        first = _first_line(node)
        rows = [line.encode() for line in self.lines[first - 1 : node.end_lineno]]
        for part, new in sorted(edits, key=lambda edit: (-edit[0].lineno, -edit[0].col_offset)):
            begin, end = part.lineno - first, (part.end_lineno or part.lineno) - first
            tail = rows[end][part.end_col_offset :]
            rows[begin : end + 1] = [rows[begin][: part.col_offset] + new.encode() + tail]
        text = textwrap.dedent(b"".join(row if row.endswith(b"\n") else row + b"\n" for row in rows).decode())
        return _shortened(text.rstrip())

    def source(self, node: ast.expr) -> str:
        """Return the text of an expression."""
        return ast.get_source_segment("".join(self.lines), node) or ast.unparse(node)

    def header(self, block: ast.stmt) -> str:
        """Return the first line of a block, such as `for x in data:`."""
        body = getattr(block, "body", [block])[0]
        rows = self.lines[block.lineno - 1 : max(block.lineno, _first_line(body) - 1)]
        return textwrap.dedent("".join(rows)).rstrip()

    def decorated(self, function: Function) -> str:
        """Return the header of a function with its decorators."""
        rows = [self.lines[d.lineno - 1].strip() for d in function.decorator_list]
        return "\n".join([*rows, self.header(function)])

    def definition(self, name: str) -> Function | None:
        """Return the first function of this name in the file."""
        found = (n for n in ast.walk(self.tree) if isinstance(n, Function) and n.name == name)
        return next(found, None)

    def assignment(self, name: str) -> ast.Assign | None:
        """Return the first assignment to a variable or attribute of this name."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and any(last_name(t) == name for t in node.targets):
                return node
        return None


@functools.lru_cache(maxsize=32)
def _parse(source: str) -> ast.Module | None:
    """Parse a file once: a screen asks again at every view."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def find_statement(source: str, line: int) -> Statement | None:
    """Return the innermost statement at a line, or None where there is none or the file does not parse."""
    tree = _parse(source)
    if tree is None:
        return None
    around: list[ast.stmt] = []
    body: list[ast.stmt] = list(tree.body)
    while True:
        inside = [s for s in body if _first_line(s) <= line <= (s.end_lineno or s.lineno)]
        if not inside:
            break
        around.append(inside[0])
        body = [c for c in ast.iter_child_nodes(inside[0]) if isinstance(c, ast.stmt)]
        body += [c for h in getattr(inside[0], "handlers", ()) for c in h.body]
    if not around:
        return None
    return Statement(source.splitlines(keepends=True), tree, around[-1], tuple(around[:-1]))


def last_name(node: ast.expr) -> str:
    """Return `loss` for `loss`, `self.loss` and `loss[3]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def called_name(call: ast.Call) -> str:
    """Return the name of what is called, without the object it belongs to."""
    return last_name(call.func) if not isinstance(call.func, ast.Subscript) else ""


def names_read(node: ast.AST) -> set[str]:
    """Return the names that an expression or a statement mentions."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def names_assigned(node: ast.stmt) -> set[str]:
    """Return the names that a statement, such as a loop, assigns to."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def indented(text: str) -> str:
    """Indent a text by one level."""
    return textwrap.indent(text, "    ")


def _first_line(node: ast.stmt) -> int:
    """Return the line of a statement, or that of its first decorator."""
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


def _shortened(text: str) -> str:
    rows = text.splitlines()
    if len(rows) <= _MOST_LINES:
        return text
    last = rows[_MOST_LINES - 2]
    indent = last[: len(last) - len(last.lstrip())]
    return "\n".join([*rows[: _MOST_LINES - 1], f"{indent}..."])
