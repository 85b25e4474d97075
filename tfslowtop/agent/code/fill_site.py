"""Finds the line that makes a container longer, in the source, by the name under which it was found.

It uses patterns and indentation. `ast.parse` is not safe on a second thread: on Python 3.11, running it at
the same time as AutoGraph ended in a SystemError in either of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .source_lines import source_lines

_METHODS = "append|appendleft|extend|extendleft|insert|add|setdefault|update|put"
_FILLS = rf"(?:\[[^\]]*\])*\.(?:{_METHODS})\s*\(|\[.*\]\s*=(?!=)|(?:\[[^\]]*\])*\s*[+|]="


def find_fill_site(files: Iterable[str], name: str, loops: set[tuple[str, int]]) -> tuple[str, int]:
    """Return file and line; preferably in the body of a running loop, then in a function."""
    fills = re.compile(rf"\b{re.escape(last_name(name))}(?:{_FILLS})")
    best: tuple[int, int, str, int] | None = None
    for order, file in enumerate(dict.fromkeys(files)):
        lines = source_lines(file)
        bodies = [_body(lines, line) for at, line in loops if at == file]
        for number, text in enumerate(lines, 1):
            if fills.search(text.partition("#")[0]):
                inside = any(number in body for body in bodies)
                rank = (-2 if inside else -1 if text[:1] in " \t" else 0, order, file, number)
                best = min(best, rank) if best else rank
    return (best[2], best[3]) if best else ("", 0)


def last_name(name: str) -> str:
    """Return the name by which it is filled: `self.log['loss']` is filled where `.log[...]` is."""
    return re.sub(r"\[[^\]]*\]", "", name).rpartition(".")[2]


def _body(lines: list[str], header: int) -> range:
    """Return the lines that are indented further than the header of a loop."""
    if not 0 < header <= len(lines):
        return range(0)
    depth, number = _indent(lines[header - 1]), header
    while number < len(lines) and (not lines[number].strip() or _indent(lines[number]) > depth):
        number += 1
    return range(header + 1, number + 1)


def _indent(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())
