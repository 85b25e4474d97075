"""A line in its source: the statement it is in, the loops and functions around that, and edits of its text."""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

#: A statement longer than this is shown by its first lines.
_SHOWN = 8

Loop = ast.For | ast.While | ast.AsyncFor
Function = ast.FunctionDef | ast.AsyncFunctionDef

Edit = tuple[ast.expr, str]


@dataclass(frozen=True, slots=True)
class Place:
    lines: list[str]
    tree: ast.Module
    stmt: ast.stmt
    around: tuple[ast.stmt, ...]
    """Outermost first, without the statement itself."""

    @property
    def loop(self) -> Loop | None:
        """The innermost loop around the line, in the same function."""
        for node in reversed(self.around):
            if isinstance(node, Loop):
                return node
            if isinstance(node, Function):
                return None
        return None

    @property
    def function(self) -> Function | None:
        return next((node for node in reversed(self.around) if isinstance(node, Function)), None)

    def calls(self) -> Iterator[ast.Call]:
        """In the statement, outermost first."""
        return (node for node in ast.walk(self.stmt) if isinstance(node, ast.Call))

    def text(self, node: ast.stmt, *edits: Edit) -> str:
        """A statement as it stands in the file, or with some of its expressions replaced."""
        first = _first(node)
        rows = [line.encode() for line in self.lines[first - 1 : node.end_lineno]]
        for part, new in sorted(edits, key=lambda edit: (-edit[0].lineno, -edit[0].col_offset)):
            begin, end = part.lineno - first, (part.end_lineno or part.lineno) - first
            tail = rows[end][part.end_col_offset :]
            rows[begin : end + 1] = [rows[begin][: part.col_offset] + new.encode() + tail]
        text = textwrap.dedent(b"".join(row if row.endswith(b"\n") else row + b"\n" for row in rows).decode())
        return _shortened(text.rstrip())

    def source(self, node: ast.expr) -> str:
        return ast.get_source_segment("".join(self.lines), node) or ast.unparse(node)

    def header(self, block: ast.stmt) -> str:
        """`for x in data:`"""
        body = getattr(block, "body", [block])[0]
        rows = self.lines[block.lineno - 1 : max(block.lineno, _first(body) - 1)]
        return textwrap.dedent("".join(rows)).rstrip()

    def decorated(self, function: Function) -> str:
        rows = [self.lines[d.lineno - 1].strip() for d in function.decorator_list]
        return "\n".join([*rows, self.header(function)])

    def defined(self, name: str) -> Function | None:
        found = (n for n in ast.walk(self.tree) if isinstance(n, Function) and n.name == name)
        return next(found, None)

    def assigned(self, name: str) -> ast.Assign | None:
        """Where a name, or an attribute of that name, is first given its value."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and any(named(t) == name for t in node.targets):
                return node
        return None


@functools.lru_cache(maxsize=4)
def _parsed(source: str) -> ast.Module | None:
    """A screen asks again at every view."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def locate(source: str, line: int) -> Place | None:
    tree = _parsed(source)
    if tree is None:
        return None
    around: list[ast.stmt] = []
    body: list[ast.stmt] = list(tree.body)
    while True:
        inside = [s for s in body if _first(s) <= line <= (s.end_lineno or s.lineno)]
        if not inside:
            break
        around.append(inside[0])
        body = [c for c in ast.iter_child_nodes(inside[0]) if isinstance(c, ast.stmt)]
        body += [c for h in getattr(inside[0], "handlers", ()) for c in h.body]
    if not around:
        return None
    return Place(source.splitlines(keepends=True), tree, around[-1], tuple(around[:-1]))


def named(node: ast.expr) -> str:
    """`loss` of `loss`, of `self.loss` and of `loss[3]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def called(call: ast.Call) -> str:
    return named(call.func) if not isinstance(call.func, ast.Subscript) else ""


def names(node: ast.AST) -> set[str]:
    """What an expression reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def changing(loop: ast.stmt) -> set[str]:
    """Names that a loop gives new values to."""
    return {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def _first(node: ast.stmt) -> int:
    """Its line, or that of its first decorator."""
    made = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(d.lineno for d in made)])


def _shortened(text: str) -> str:
    rows = text.splitlines()
    if len(rows) <= _SHOWN:
        return text
    indent = rows[_SHOWN - 2][: len(rows[_SHOWN - 2]) - len(rows[_SHOWN - 2].lstrip())]
    return "\n".join([*rows[: _SHOWN - 1], f"{indent}..."])
