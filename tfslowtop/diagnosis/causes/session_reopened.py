"""session-per-step and session-leak: Sessions are opened again and again, and perhaps never closed."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from ...agent.protocol.names import GAUGE_OPEN_SESSIONS, GAUGE_RSS, STREAM_SESSION_RUN, TALLY_SESSION
from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import finding, ms, size
from ..names import SESSION_LEAK, SESSION_PER_STEP
from ..readings.memory_growth import LEAK, SLOW_LEAK, grown_bytes
from ..rewriting.hoist import hoisted
from ..rewriting.statement import Change, Statement, names_assigned, names_read

#: Sessions per run from which on they are not reused, and Sessions in all: a program may well open a few.
SESSIONS_PER_RUN = 0.3
LEAST_SESSIONS = 5
#: The share of the Sessions that has to stay open for a leak.
STAYED_OPEN = 0.5
#: The share of the time in Session.run that counts: most of the first run of a Session is preparation.
PREPARING = 0.85
#: Lines of a loop that are shown: a longer one does not fit on the screen.
_MOST_ROWS = 20


def _enter_once(statement: Statement, found: Finding) -> Change | None:
    """Turn `for: with:` into `with: for:`."""
    loop, node = statement.loop, statement.node
    if loop is None:
        return None
    if not isinstance(node, ast.With):
        return hoisted(statement)
    rows = statement.lines[loop.lineno - 1 : loop.end_lineno]
    opened = {name for item in node.items for name in names_read(item.context_expr)}
    if len(rows) > _MOST_ROWS or opened & names_assigned(loop) or loop.orelse or _has_long_text(loop):
        return None
    # The lines inside the `with` stay at their indent; the others of the loop get one more level.
    first, last = node.lineno - loop.lineno, (node.end_lineno or 0) - loop.lineno
    body = node.body[0].lineno - loop.lineno
    before = textwrap.dedent("".join(rows)).splitlines()
    after = [
        *(row.removeprefix("    ") for row in before[first:body]),
        *(f"    {row}" for row in before[:first]),
    ]
    after += [*before[body : last + 1], *(f"    {row}" for row in before[last + 1 :])]
    return Change("\n".join(before), "\n".join(after))


def _has_long_text(loop: ast.stmt) -> bool:
    """Whether a text goes over several lines, whose indent is part of it."""
    texts = (n for n in ast.walk(loop) if isinstance(n, ast.JoinedStr | ast.Constant))
    return any(n.end_lineno != n.lineno for n in texts)


def _close(statement: Statement, found: Finding) -> Change | None:
    """Turn an assignment into a `with` block."""
    node = statement.node
    if not isinstance(node, ast.Assign):
        return None
    opened = statement.source(node.value).replace("InteractiveSession(", "Session(")  # it has no `with`
    return Change(statement.edited(), f"with {opened} as {statement.source(node.targets[0])}:\n    ...")


PER_STEP = Cause(
    id=SESSION_PER_STEP,
    area=Area.GRAPH,
    headline="A new Session is opened for every step",
    mechanism="A new Session knows nothing about the graph, so its first run transfers and optimises all of it again.",
    advice="Open one Session before the loop and use it for every run.",
    before="for x in data:\n    with tf.Session() as sess:\n        sess.run(step)",
    after="with tf.Session() as sess:\n    for x in data:\n        sess.run(step)",
    scenario="open_sessions",
    change=_enter_once,
)
LEAKED = Cause(
    id=SESSION_LEAK,
    area=Area.GRAPH,
    headline="Sessions are opened and never closed",
    mechanism="A Session keeps its copy of the graph, its threads and its memory until it is closed.",
    advice="Open one Session before the loop, or close each one by using `with tf.Session() as sess:`.",
    before="sess = tf.Session()",
    after="with tf.Session() as sess:",
    curve=GAUGE_OPEN_SESSIONS,
    scenario="open_sessions",
    change=_close,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    lines = [c for c in facts.tallies_of(TALLY_SESSION) if c.count >= LEAST_SESSIONS]
    if not lines:
        return
    worst, runs = lines[0], facts.streams_of(STREAM_SESSION_RUN)
    opened, total = sum(c.count for c in lines), sum(r.calls for r in runs)
    gauge, rss = facts.gauges.get(GAUGE_OPEN_SESSIONS), facts.gauges.get(GAUGE_RSS)
    # The largest value, not the last: what a function kept is gone when it returns at the end of the program.
    left = gauge.largest if gauge is not None else None
    leaks = left is not None and left >= STAYED_OPEN * opened
    per_step = opened >= SESSIONS_PER_RUN * max(total, 1)
    grown = grown_bytes(facts) if leaks and worst.is_ongoing else 0.0
    heavy = rss is not None and grown >= max(LEAK, SLOW_LEAK * rss.last)
    if not (per_step or heavy):
        return
    open_now = f", and {left:.0f} of them stayed open" if leaks else ""
    effect = (
        f"a run takes {ms(runs[0].median) if runs else '?'}" if per_step else f"memory grew by {size(grown)}"
    )
    yield finding(
        facts,
        LEAKED if leaks else PER_STEP,
        worst.site,
        f"{opened} Sessions were opened for {total} runs{open_now}; {effect}.",
        # A program that uses each Session for long pays in memory only.
        sum(r.seconds for r in runs) + facts.seconds_at(worst.site) if per_step else None,
        weight=PREPARING,
        since=worst.since,
        sessions=opened,
        runs=total,
        open=left,
        memory_share=grown / rss.last if rss and rss.last else None,
    )


DETECTOR = Detector(detect, (PER_STEP, LEAKED))
