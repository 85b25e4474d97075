"""slow-start: the program runs Python of its own for long before its first step."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from ...agent.code.source_lines import source_lines
from ...agent.protocol.names import PACKAGE_TENSORFLOW, TALLY_WHERE
from ..busy import busy
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, TallyFacts
from ..finding import Finding
from ..make import LARGE_SHARE, finding
from ..names import SLOW_START
from ..readings.python_lines import is_search
from ..rewriting.statement import Loop, find_statement

#: Seconds that one place takes before the first step to be worth a word: imports and first traces take as long.
LONG = 5.0
#: The share of all that came before the first step that it has to take.
MOST = 0.3
#: The share of its time that may be inside compiled loops: reading and converting arrays is what a start is for.
COMPILED = 0.25

CAUSE = Cause(
    id=SLOW_START,
    area=Area.HOST,
    headline="Python of your own runs for long before the first step",
    mechanism="What is parsed, converted or computed item by item runs in the interpreter, on one core, each time that the "
    "program is started.",
    advice="Read the data with a library that does it in compiled code (NumPy, pandas, tf.data), or keep the result in a "
    "file (np.save) and load that.",
    before="rows = [[float(v) for v in line.split()] for line in open(path)]",
    after="rows = np.load(cache) if cache.exists() else parse(path)",
    scenario=None,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """The function that takes most of the time before the first step, if it is the interpreter that is busy."""
    if facts.step is None or facts.before < LONG:
        return
    places: defaultdict[tuple[str, int], list[TallyFacts]] = defaultdict(list)
    for c in facts.tallies_of(TALLY_WHERE):
        block = _block(c) if c.is_users and c.before else 0
        if block:
            places[c.file, block].append(c)
    for seen in sorted(places.values(), key=lambda seen: -sum(c.before for c in seen)):
        yield _report(facts, seen)
        return


def _report(facts: Facts, seen: list[TallyFacts]) -> Finding | None:
    seconds = sum(c.before for c in seen if busy(c).python or c.package == PACKAGE_TENSORFLOW)
    native = sum(c.before for c in seen if c.native)
    enough = seconds >= max(LONG, MOST * facts.before, LARGE_SHARE * facts.elapsed)
    if not enough or native > COMPILED * seconds:
        return None
    lines: defaultdict[Site, float] = defaultdict(float)
    for c in seen:
        lines[c.site] += c.before
    site, most = max(lines.items(), key=lambda line: line[1])
    site = _search(site) or site
    return finding(
        facts,
        CAUSE,
        site,
        f"The first step comes {facts.before:.1f} s after the start; {seconds:.1f} s of that are a loop in Python here, "
        f"{most:.1f} s of them at one line.",
        seconds,
        at_most=True,
        symbol="start",
        least=0,
        before_seconds=facts.before,
    )


def _search(site: Site) -> Site | None:
    """Return the line that searches a list in the loop around a line: samples land at the end of its body."""
    statement = find_statement("".join(source_lines(site[0])), site[1])
    nodes = ast.walk(statement.loop) if statement and statement.loop else ()
    found = next((n for n in nodes if isinstance(n, ast.expr) and is_search(n)), None)
    return (site[0], found.lineno) if found is not None else None


def _block(c: TallyFacts) -> int:
    """Return the first line of what repeats around a line: a function, a loop, a comprehension; 0 if nothing does."""
    statement = find_statement("".join(source_lines(c.file)), c.line)
    if statement is None or isinstance(statement.node, ast.Import | ast.ImportFrom):
        return 0
    block: ast.stmt | None = statement.function or statement.loop
    inside = any(isinstance(n, ast.comprehension) for n in ast.walk(statement.node))
    if block is None and (inside or isinstance(statement.node, Loop)):
        block = statement.node
    return block.lineno if block else 0


DETECTOR = Detector(detect, (CAUSE,))
