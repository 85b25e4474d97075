"""Which line makes a container longer: read from the source, by the name under which it was found."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator

_METHODS = frozenset({"append", "appendleft", "extend", "insert", "add", "setdefault", "update", "put"})


def grows(files: Iterable[str], name: str, loops: set[tuple[str, int]]) -> tuple[str, int]:
    """File and line; of several, one in the body of a loop that goes round, then one in a function."""
    wanted = last_name(name)
    best: tuple[int, int, str, int] | None = None
    for order, file in enumerate(dict.fromkeys(files)):
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError, RecursionError):
            continue
        turning = {line for at, line in loops if at == file}
        for line, depth in _fills(tree, wanted, turning):
            rank = (-depth, order, file, line)
            best = min(best, rank) if best else rank
    return (best[2], best[3]) if best else ("", 0)


def last_name(name: str) -> str:
    """`self.log['loss']` is filled where `.log[...]` is."""
    plain = re.sub(r"\[[^\]]*\]", "", name)
    return plain.rpartition(".")[2]


def _fills(tree: ast.AST, wanted: str, turning: set[int]) -> Iterator[tuple[int, int]]:
    """Each line that fills it: 2 in a loop that goes round, 1 in a function, else 0."""
    todo: list[tuple[ast.AST, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        if _filling(node, wanted):
            yield getattr(node, "lineno", 0), depth
        inside = depth
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inside = 1
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            inside = 2 if node.lineno in turning else max(depth, 1)
        todo += [(child, inside) for child in ast.iter_child_nodes(node)]


def _filling(node: ast.AST, wanted: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _METHODS and _named(node.func.value, wanted)
    if isinstance(node, ast.AugAssign):
        return _named(node.target, wanted)
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Subscript) and _named(t.value, wanted) for t in node.targets)
    return False


def _named(node: ast.expr, wanted: str) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id == wanted
    return isinstance(node, ast.Attribute) and node.attr == wanted
