"""Lines of the user's code that the interpreter itself is busy with, and what the code around them does.

The account says how long; the syntax of the user's file says what. Samples land where Python gives the interpreter
away, which is the end of a loop's body or a call. So the lines of a loop are one place, and what it does is looked
for in all of it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from ...agent.code.source_lines import source_lines
from ...agent.protocol.names import (
    ACTIVITY_LIBRARY,
    ACTIVITY_OWN,
    PACKAGE_KERAS,
    PACKAGE_NUMPY,
    PACKAGE_TENSORFLOW,
    TALLY_WHERE,
)
from ..facts import Facts, Site
from ..rewriting.statement import Loop, Statement, called_name, find_statement, last_name

#: Lines that are looked at: the others take less than a thousandth of the time each.
_MOST_LINES = 40
#: The share of a place's samples that may be inside compiled loops if it is Python that takes the time. Some samples
#: of a Python loop look so by chance, about a tenth; of a real kernel half or more, even if all cores are busy.
COMPILED = 0.25
#: Packages of Python's own that work on the program's objects one by one.
COPY, JSON = "copy", ("json", "pickle")
_JOINS = ("append", "concatenate", "vstack", "hstack", "stack", "column_stack", "row_stack", "insert")
_ARRAYS = ("array", "asarray", "asanyarray", "stack", "fromiter")
_NUMPY = ("np", "numpy")
#: Statements that import: their time belongs to what they import.
_IMPORTS = (ast.Import, ast.ImportFrom)


class Work(Enum):
    """What a place does that takes long in Python."""

    JOIN = "copies an array to a longer one in a loop"
    CONVERT = "makes an array of a list, or a list of an array"
    VECTORIZE = "calls a Python function for each item through NumPy"
    ELEMENTS = "handles the elements of an array one by one"
    SMALL_ARRAYS = "calls NumPy for one small piece at a time"
    DEEPCOPY = "copies objects with deepcopy"
    JSON = "converts objects to or from text"
    SEARCH = "searches a list"
    INDEX = "goes through a list by its index"
    PYTHON = "runs Python code"


@dataclass(frozen=True, slots=True)
class Place:
    """A loop, or a function outside of loops, with the time that the interpreter spends there."""

    site: Site
    """The line to name."""
    seconds: float
    compiled: float
    """The part of it inside compiled loops."""
    line_seconds: float
    """The time of its heaviest line."""
    work: Work
    detail: str
    """The piece of source that shows it."""
    repeats: bool
    """Whether it is in a loop or a function, and not a statement that runs once."""

    @property
    def is_python(self) -> bool:
        return self.compiled <= COMPILED * self.seconds


@dataclass(slots=True)
class _Line:
    seconds: float = 0.0
    compiled: float = 0.0
    packages: tuple[str, ...] = ()
    callees: tuple[str, ...] = ()


def python_places(facts: Facts) -> list[Place]:
    """Return the places of the user's code outside TensorFlow, most expensive first."""
    groups: defaultdict[tuple[str, int], list[tuple[Site, _Line, Statement]]] = defaultdict(list)
    for site, line in _lines(facts).items():
        statement = find_statement("".join(source_lines(site[0])), site[1])
        if statement is None or isinstance(statement.node, _IMPORTS):
            continue
        block = _loop(statement) or statement.function
        # Outside of a function and of a loop, a statement runs once.
        groups[site[0], block.lineno if block else -site[1]].append((site, line, statement))
    places = [_place(lines) for lines in groups.values()]
    return sorted(places, key=lambda place: -place.seconds)


def _lines(facts: Facts) -> dict[Site, _Line]:
    """Return the lines with time of the program's own or of libraries other than TensorFlow, from the account."""
    found: dict[Site, _Line] = {}
    for row in facts.account.rows:
        if row.activity in (ACTIVITY_OWN, ACTIVITY_LIBRARY) and row.file:
            found.setdefault((row.file, row.line), _Line()).seconds += row.seconds
    heaviest = sorted(found.items(), key=lambda item: -item[1].seconds)[:_MOST_LINES]
    seen: defaultdict[Site, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for c in facts.tallies_of(TALLY_WHERE):
        if c.site in found and not c.inside and c.package not in (PACKAGE_TENSORFLOW, PACKAGE_KERAS):
            seen[c.site][0] += c.seconds
            seen[c.site][1] += c.seconds * c.native
            line = found[c.site]
            line.packages += (c.package,)
            line.callees += (c.symbol,)
    for site, line in heaviest:
        every, native = seen[site]
        line.compiled = line.seconds * native / every if every else 0.0
    return dict(heaviest)


def _loop(statement: Statement) -> Loop | None:
    return statement.node if isinstance(statement.node, Loop) else statement.loop


def _place(lines: list[tuple[Site, _Line, Statement]]) -> Place:
    lines.sort(key=lambda item: -item[1].seconds)
    (file, number), heaviest, statement = lines[0]
    work, node = _work(statement, heaviest, [line for _, line, _ in lines])
    return Place(
        site=(file, node.lineno if node is not None else number),
        seconds=sum(line.seconds for _, line, _ in lines),
        compiled=sum(line.compiled for _, line, _ in lines),
        line_seconds=heaviest.seconds,
        work=work,
        detail=_shown(statement, node),
        repeats=_loop(statement) is not None or statement.function is not None,
    )


def _shown(statement: Statement, node: ast.expr | None) -> str:
    text = " ".join(statement.source(node).split()) if node is not None else ""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _work(statement: Statement, line: _Line, lines: list[_Line]) -> tuple[Work, ast.expr | None]:
    """Find out what a place does, and the expression that shows it."""
    packages = {package for each in lines for package in each.packages}
    if any(c.startswith(("_vectorize", "apply_along_axis")) for c in line.callees):
        return Work.VECTORIZE, None
    own = list(_expressions(statement.node))
    for node in own:
        if _is_numpy_call(node, _JOINS) and _is_joined(statement.node, node):
            return Work.JOIN, node
        if isinstance(node, ast.Call) and (called_name(node) == "tolist" or _is_conversion(node)):
            return Work.CONVERT, node
    if COPY in line.packages:
        return Work.DEEPCOPY, None
    if set(JSON) & set(line.packages):
        return Work.JSON, None
    block = _loop(statement)
    everything: list[ast.AST] = list(ast.walk(block)) if block is not None else [*own]
    return _loop_work(everything, block, packages)


def _loop_work(nodes: list[ast.AST], block: Loop | None, packages: set[str]) -> tuple[Work, ast.expr | None]:
    search = next((n for n in nodes if is_search(n)), None)
    if isinstance(search, ast.expr):
        return Work.SEARCH, search
    counters = _counters(nodes, block)
    indexed = [n for n in nodes if isinstance(n, ast.Subscript) and _is_element(n, counters)]
    for node in indexed:
        if isinstance(node.slice, ast.Tuple):
            return Work.ELEMENTS, node
    calls = any(_is_numpy_call(n) for n in nodes)
    if block is not None and calls and PACKAGE_NUMPY in packages and not _depends_on_last(block):
        return (Work.ELEMENTS, indexed[0]) if indexed else (Work.SMALL_ARRAYS, None)
    return (Work.INDEX, indexed[0]) if indexed else (Work.PYTHON, None)


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Iterate over the expressions of a statement itself: of a loop, its header."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from (n for n in ast.walk(child) if isinstance(n, ast.expr))


def _is_numpy_call(node: ast.AST, names: Iterable[str] = ()) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner: ast.expr = node.func.value
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    known = isinstance(owner, ast.Name) and owner.id in _NUMPY
    return known and (not names or node.func.attr in names)


def _is_joined(statement: ast.stmt, call: ast.expr) -> bool:
    """Whether the result of a call gets the name of one of the arrays that it joins."""
    targets = {last_name(t) for t in getattr(statement, "targets", ())}
    return any(last_name(n) in targets for n in ast.walk(call) if isinstance(n, ast.Name | ast.Attribute))


def _is_conversion(call: ast.Call) -> bool:
    """Whether a call makes an array of a list that exists already, by its name."""
    return (
        _is_numpy_call(call, _ARRAYS)
        and bool(call.args)
        and isinstance(call.args[0], ast.Name | ast.Attribute | ast.Subscript)
    )


def is_search(node: ast.AST) -> bool:
    """Whether an expression goes through a list from its start."""
    if isinstance(node, ast.Compare):
        named = isinstance(node.comparators[0], ast.Name | ast.Attribute | ast.Subscript)
        return isinstance(node.ops[0], ast.In | ast.NotIn) and named
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return False
    first = node.args[0]
    at_start = isinstance(first, ast.Constant) and first.value == 0
    return node.func.attr in ("index", "remove") or (node.func.attr == "pop" and at_start)


def _counters(nodes: list[ast.AST], block: Loop | None) -> set[str]:
    """Return the variables of loops over numbers: those of `range` and `enumerate`, or that a while counts up."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Call):
            target = node.target
            if called_name(node.iter) == "enumerate" and isinstance(target, ast.Tuple):
                target = target.elts[0]
            if called_name(node.iter) in ("range", "enumerate", "ndindex", "prange"):
                found |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.AugAssign) and isinstance(block, ast.While):
            found.add(last_name(node.target))
    return found


def _depends_on_last(block: Loop) -> bool:
    """Whether an iteration uses what the one before it computed, other than a sum: then it has to wait for it."""
    for node in ast.walk(block):
        if isinstance(node, ast.Assign) and node.value is not None:
            stored = _stored(node) - {""}
            before = [n for s in block.body for n in ast.walk(s) if getattr(n, "lineno", 0) <= node.lineno]
            read = {
                last_name(n)
                for n in before
                if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Load)
            }
            first = min(
                (s.lineno for s in ast.walk(block) if isinstance(s, ast.Assign) and stored & _stored(s)),
                default=0,
            )
            if node.lineno == first and stored & read:
                return True
    return False


def _parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]


def _stored(node: ast.Assign) -> set[str]:
    return {
        last_name(t) for target in node.targets for t in _parts(target) if not isinstance(t, ast.Subscript)
    }


def _is_element(node: ast.Subscript, counters: set[str]) -> bool:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(part, ast.Slice) for part in parts):
        return False
    return any(isinstance(n, ast.Name) and n.id in counters for part in parts for n in ast.walk(part))
