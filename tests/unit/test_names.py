"""The names inside events are compared by their constants, so that mypy finds a misspelt one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

from tfslowtop.agent.protocol import names
from tfslowtop.diagnosis import names as causes

PACKAGE = ROOT / "tfslowtop"
#: Names that are no kind of their own: a package or a symbol may have any.
UNTYPED = ("PACKAGE_", "MODULE_", "CALLEE_", "RUN_", "FEED_")
NAMES = {
    value
    for module in (names, causes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str) and not name.startswith(UNTYPED)
}
#: Attributes and functions that hold or take such a name, and dictionaries that have them as keys.
HOLDERS = ("kind", "what", "phase", "cause")
TAKERS = ("streams_of", "tallies_of", "recreating_lines")
TABLES = ("gauges", "readings", "histories", "before", "during", "now")


def spelt_out(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Find strings in places where a name is expected."""
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            if _last(node.left) in HOLDERS:
                found = node.comparators
            elif any(_last(side) in TABLES for side in node.comparators):
                found = [node.left]
        elif isinstance(node, ast.Subscript) and _last(node.value) in TABLES:
            found = [node.slice]
        elif isinstance(node, ast.Call) and (_last(node.func) in TAKERS or _reads_table(node.func)):
            found = node.args
        for part in found:
            for each in part.elts if isinstance(part, (ast.Tuple, ast.Set, ast.List)) else [part]:
                if isinstance(each, ast.Constant) and each.value in NAMES:
                    yield each.lineno, each.value


def _reads_table(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "get" and _last(node.value) in TABLES


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize(
    "line",
    [
        'facts.streams_of(STREAM_FIT, "loop")',
        'step.kind == "fit"',
        'view.phase in ("starting", PHASE_SETUP)',
        'now.get("cpu.wait", 0.0)',
        'facts.gauges["rss"]',
        '"rss" in facts.gauges',
    ],
)
def test_a_name_that_is_spelt_out_is_found(line: str):
    assert list(spelt_out(ast.parse(line)))


def test_no_name_is_spelt_out():
    found = [
        f"{file.relative_to(ROOT)}:{line}: {value!r}"
        for file in _files()
        for line, value in spelt_out(ast.parse(file.read_text()))
    ]
    assert not found


def _files() -> list[Path]:
    return [file for file in sorted(PACKAGE.rglob("*.py")) if file.name != "names.py"]
