"""The code of an iteration as it runs with some fixes active: branches of the others are cut out.

Pure: source in, lines out. It cuts whole lines, so that comments and formatting of the rest are the author's
own.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Sign: TypeAlias = Literal[" ", "-", "+"]
Place: TypeAlias = tuple[int, int]
"""Line and column, in characters, from 0."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of code; `-` and `+` say that the other side has no such line."""

    text: str
    sign: Sign = " "


def applied(source: str, fixes: Iterable[str], function: str = "iteration") -> list[str]:
    """Return the lines of the function that run with exactly these fixes; none if it is not found."""
    tree = ast.parse(source)
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if found is None:
        return []
    names = [argument.arg for argument in (*found.args.posonlyargs, *found.args.args)]
    return _Cut(source, names[1] if len(names) > 1 else "", frozenset(fixes)).function(found)


def side_by_side(slow: Sequence[str], fixed: Sequence[str]) -> tuple[list[Line], list[Line]]:
    """Return both versions, with the lines marked that only one of them has."""
    left, right = [Line(text, "-") for text in slow], [Line(text, "+") for text in fixed]
    # Without the default "junk" rule, a frequent line such as a bracket would never match.
    matcher = difflib.SequenceMatcher(None, slow, fixed, autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        for k in range(size):
            left[a + k], right[b + k] = Line(slow[a + k]), Line(fixed[b + k])
    return left, right


@dataclass(frozen=True, slots=True)
class _Edit:
    begin: Place
    end: Place
    text: str


class _Cut:
    def __init__(self, source: str, name: str, active: frozenset[str]) -> None:
        self._lines = source.splitlines()
        self._name = name
        self._active = active

    def function(self, node: ast.FunctionDef) -> list[str]:
        lines, _ = self._compound(node)
        return lines

    # Statements. Each returns its lines, and whether nothing after it can be reached.

    def _block(self, body: Sequence[ast.stmt], first: int, indent: int) -> tuple[list[str], bool]:
        """Render a block whose comments begin at line `first`, moved to column `indent`."""
        lines: list[str] = []
        done = False
        for node in body:
            begin, end = _first_line(node), node.end_lineno or node.lineno
            if begin < first:  # after a semicolon: it was cut with its line
                continue
            new, done = self._statement(node)
            if new:
                lines += [*self._lines[first:begin], *new]
            first = end
            if done:
                break
        shift = _indent(self._lines[_first_line(body[0])]) - indent
        return [_moved(line, shift) for line in lines], done

    def _statement(self, node: ast.stmt) -> tuple[list[str], bool]:
        if isinstance(node, ast.If):
            return self._if(node, "if")
        if _blocks(node) and not self._on_one_line(node):
            return self._compound(node)
        ends = isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break))
        return self._edited(_first_line(node), node.end_lineno or node.lineno, [node]), ends

    def _if(self, node: ast.If, word: str) -> tuple[list[str], bool]:
        """Render an `if`; `word` is what it has to begin with where it stays: if, elif."""
        value = self._value(node.test)
        indent = _indent(self._lines[node.lineno - 1])
        if value is True:
            return self._branch(node, node.body, indent)
        if value is False:
            if _is_elif(self._lines, node.orelse):
                following = node.orelse[0]
                assert isinstance(following, ast.If)
                return self._if(following, word)
            return self._branch(node, node.orelse, indent) if node.orelse else ([], False)
        header = f"{' ' * indent}{word} {self._text(node.test)}:"
        body, _ = self._branch(node, node.body, indent + 4)
        lines = [*header.splitlines(), *(body or [" " * (indent + 4) + "pass"])]
        if _is_elif(self._lines, node.orelse):
            following = node.orelse[0]
            assert isinstance(following, ast.If)
            rest, _ = self._if(following, "elif")
            if rest and not rest[0].lstrip().startswith("elif "):
                rest = [" " * indent + "else:", *(" " * 4 + line if line else line for line in rest)]
            return lines + rest, False
        if node.orelse:
            rest, _ = self._branch(node, node.orelse, indent + 4)
            lines += [" " * indent + "else:", *rest] if rest else []
        return lines, False

    def _branch(self, node: ast.If, body: Sequence[ast.stmt], indent: int) -> tuple[list[str], bool]:
        header = node.test.end_lineno if body is node.body else node.body[-1].end_lineno
        start = _first_line(body[0])
        if start == (header or 0) - 1:  # `if x: y`
            text = "; ".join(self._text(statement) for statement in body)
            return [" " * indent + text], isinstance(body[-1], (ast.Return, ast.Raise))
        return self._block(body, self._after_header(header or 0, start), indent)

    def _compound(self, node: ast.stmt) -> tuple[list[str], bool]:
        """Render a compound statement that stays: its blocks are cut, what is between them is not."""
        lines: list[str] = []
        first, indent = _first_line(node), _indent(self._lines[_first_line(node)])
        inner = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
        for body in _blocks(node):
            start = _first_line(body[0])
            header = self._after_header(first + 1, start)
            lines += self._edited(first, header, inner)
            kept, _ = self._block(body, header, _indent(self._lines[start]))
            lines += kept or [" " * (indent + 4) + "pass"]
            first = body[-1].end_lineno or 0
        return lines, False

    def _after_header(self, first: int, start: int) -> int:
        """Return the line after the header; comments between it and the block belong to the block."""
        while start > first and (
            not self._lines[start - 1].strip() or self._lines[start - 1].lstrip()[0] == "#"
        ):
            start -= 1
        return start

    def _on_one_line(self, node: ast.stmt) -> bool:
        return any(_first_line(body[0]) == node.lineno - 1 for body in _blocks(node))

    # Expressions

    def _value(self, node: ast.AST) -> bool | None:
        """Evaluate an expression with these fixes; None where it depends on something else."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr in self._active if node.value.id == self._name else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            value = self._value(node.operand)
            return None if value is None else not value
        if isinstance(node, ast.BoolOp):
            values = [self._value(operand) for operand in node.values]
            decisive = isinstance(node.op, ast.Or)
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        return None

    def _edits(self, node: ast.AST) -> Iterator[_Edit]:
        value = self._value(node)
        if value is not None:
            yield self._edit(node, str(value))
        elif isinstance(node, ast.IfExp) and self._value(node.test) is not None:
            yield self._edit(node, self._text(node.body if self._value(node.test) else node.orelse))
        elif isinstance(node, ast.BoolOp) and any(self._value(v) is not None for v in node.values):
            rest = [self._text(v) for v in node.values if self._value(v) is None]
            yield self._edit(node, (" or " if isinstance(node.op, ast.Or) else " and ").join(rest))
        else:
            for child in ast.iter_child_nodes(node):
                yield from self._edits(child)

    def _edit(self, node: ast.AST, text: str) -> _Edit:
        assert isinstance(node, ast.expr)
        return _Edit(*self._span(node), text)

    def _span(self, node: ast.expr | ast.stmt) -> tuple[Place, Place]:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        begin = self._column(first, node.col_offset)
        return (first, begin), (last, self._column(last, node.end_col_offset or 0))

    def _column(self, line: int, offset: int) -> int:
        """Convert a column, which Python counts in bytes of UTF-8."""
        return len(self._lines[line].encode()[:offset].decode())

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self._apply(*self._span(node), list(self._edits(node)))

    def _edited(self, first: int, last: int, nodes: Iterable[ast.AST]) -> list[str]:
        """Return the lines from `first` up to but not including `last`."""
        if last <= first:
            return []
        edits = [edit for node in nodes for edit in self._edits(node) if first <= edit.begin[0] < last]
        return self._apply((first, 0), (last - 1, len(self._lines[last - 1])), edits).split("\n")

    def _apply(self, begin: Place, end: Place, edits: list[_Edit]) -> str:
        parts: list[str] = []
        for edit in sorted(edits, key=lambda edit: edit.begin):
            parts += [self._between(begin, edit.begin), edit.text]
            begin = edit.end
        return "".join([*parts, self._between(begin, end)])

    def _between(self, begin: Place, end: Place) -> str:
        lines = self._lines[begin[0] : end[0] + 1]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][begin[1] :]
        return "\n".join(lines)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """Return the blocks of a compound statement, in the order of the source."""
    found: list[list[ast.stmt]] = []
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for item in [getattr(node, field, None) or []]:
            if item and isinstance(item[0], ast.stmt):
                found.append(item)
            else:
                found += [part.body for part in item if hasattr(part, "body")]
    return found


def _first_line(node: ast.stmt) -> int:
    """Return the first line, from 0, including decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _is_elif(lines: Sequence[str], orelse: Sequence[ast.stmt]) -> bool:
    return bool(orelse) and isinstance(orelse[0], ast.If) and _word(lines, orelse[0]) == "elif"


def _word(lines: Sequence[str], node: ast.stmt) -> str:
    return lines[node.lineno - 1].encode()[node.col_offset : node.col_offset + 4].decode(errors="replace")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _moved(line: str, left: int) -> str:
    """Dedent without cutting text: the rest of a string over several lines stays where it is."""
    if left < 0:
        return " " * -left + line if line.strip() else line
    return line[min(left, _indent(line)) :]
