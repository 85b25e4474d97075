"""A change as a patch of the user's file, which `patch` and `git apply` accept.

A `Change` is written for people: its lines are dedented, and `...` stands for lines that stay as they are. Here it
is matched with the file again. Where that is not possible, or where the result would not be valid or would use a name
that the file does not have, there is no patch: nothing is better than a patch that breaks the program.
"""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Sequence

from .statement import Change

#: Stands for lines that stay as they are.
_REST = "..."
#: What may be imported for a change, by the name that it uses.
_IMPORTS = {
    "collections": "import collections",
    "gc": "import gc",
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
}


def apply_change(change: Change, lines: Sequence[str], line: int) -> list[str] | None:
    """Return the lines of the file after the change, or None if it does not fit there; `line` is the finding's."""
    old, new = change.before.splitlines(), change.after.splitlines()
    places = _locate(old, lines, line)
    if places is None:
        return None
    inserted: dict[int, list[str]] = {}
    removed: set[int] = set()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        gone = range(i1, i2)
        if any(_is_rest(old[i]) for i in gone):
            return None  # it would move lines that the change does not show
        if tag == "delete" and i2 < len(old) and _is_rest(old[i2]):
            return None  # a long statement, of which only the beginning would go
        removed.update(places[i] for i in gone)
        anchor = i1 if i1 < len(old) and not _is_rest(old[i1]) else i1 - 1
        if anchor < 0 or _is_rest(old[anchor]):
            return None
        at = places[anchor] + (anchor < i1)
        indent = _indent(lines[places[anchor]])
        rows = [_at_indent(row, _indent(old[anchor]), indent) for row in new[j1:j2] if not _is_rest(row)]
        at = _above_decorators(lines, at, indent) if tag == "insert" else at
        if at < len(lines) and _defines(lines[at]) and any("self" in row for row in rows) and not gone:
            return None  # outside of the method there is no self
        inserted.setdefault(at, []).extend(rows)
    result: list[str] = []
    for n in range(len(lines) + 1):
        result += inserted.get(n, ())
        if n < len(lines) and n not in removed:
            result.append(lines[n])
    return _with_imports(lines, result)


def unified_diff(before: Sequence[str], after: Sequence[str], name: str) -> str:
    """Return the difference of two versions of a file as a patch; `name` is its path for `patch -p1`."""
    rows = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _is_rest(row: str) -> bool:
    return row.strip() == _REST


def _indent(row: str) -> str:
    return row[: len(row) - len(row.lstrip())]


def _defines(row: str) -> bool:
    return row.lstrip().startswith(("def ", "async def ", "@"))


def _at_indent(row: str, old: str, indent: str) -> str:
    """Return a row of the change as the file would have it; `old` is the anchor's indent in the change."""
    own = _indent(row)
    if own.startswith(old):
        return f"{indent}{own[len(old) :]}{row.lstrip()}\n"
    return f"{indent[: max(0, len(indent) - len(old) + len(own))]}{row.lstrip()}\n"


def _above_decorators(lines: Sequence[str], at: int, indent: str) -> int:
    while 0 < at < len(lines) and lines[at - 1].startswith(f"{indent}@") and _defines(lines[at]):
        at -= 1
    return at


def _locate(rows: Sequence[str], lines: Sequence[str], line: int) -> list[int] | None:
    """Return the index in the file of each row of the change, or None if they are not there in this order."""
    texts = [row.strip() for row in lines]
    wanted = [row.strip() for row in rows]
    pivots = [
        (n, line - 1) for n, row in enumerate(wanted) if 0 < line <= len(texts) and texts[line - 1] == row
    ]
    if not pivots:
        first = [n for n, text in enumerate(texts) if wanted and text == wanted[0]]
        pivots = [(0, first[0])] if len(first) == 1 else []
    for row, place in pivots:
        if wanted[row] == _REST:
            continue
        found = _spread(wanted, texts, row, place)
        if found is not None:
            return found
    return None


def _spread(wanted: Sequence[str], texts: Sequence[str], row: int, place: int) -> list[int] | None:
    """Match the rows before and after a known one with the nearest lines that have their text."""
    places = [place] * len(wanted)
    for step, rows in ((-1, range(row - 1, -1, -1)), (1, range(row + 1, len(wanted)))):
        at = place
        for n in rows:
            if wanted[n] == _REST:
                places[n] = at
                continue
            at += step
            while 0 <= at < len(texts) and texts[at] != wanted[n]:
                at += step
            if not 0 <= at < len(texts):
                return None
            places[n] = at
    return places


def _with_imports(before: Sequence[str], after: list[str]) -> list[str] | None:
    """Return the changed file with the imports it needs, or None where it is not valid or a name is unknown."""
    try:
        old, new = ast.parse("".join(before)), ast.parse("".join(after))
    except (SyntaxError, ValueError, RecursionError):
        return None
    missing = sorted(_unbound(new) - _unbound(old))
    if any(name not in _IMPORTS for name in missing) or after == list(before):
        return None
    if missing:
        imports = [n for n in new.body if isinstance(n, ast.Import | ast.ImportFrom)]
        own = [n for n in imports if getattr(n, "module", "") != "__future__"]
        at = own[0].lineno - 1 if own else imports[-1].lineno if imports else _after_docstring(new)
        after[at:at] = [f"{_IMPORTS[name]}\n" for name in missing]
    return after


def _after_docstring(tree: ast.Module) -> int:
    first = tree.body[0] if ast.get_docstring(tree) is not None else None
    return (first.end_lineno or 0) if first is not None else 0


def _unbound(tree: ast.Module) -> set[str]:
    """Return the names that a file reads but nowhere binds."""
    read: set[str] = set()
    bound: set[str] = set(dir(builtins)) | {"__file__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return read - bound
