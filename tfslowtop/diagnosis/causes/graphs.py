"""TensorFlow 1 style: graphs that grow, Sessions that are opened again and again."""

from __future__ import annotations

from ..facts import Facts, short
from ..finding import Finding
from ..make import finding, ms, per_step, size
from .memory import LEAK, SLOW_LEAK, grew

#: A Saver or an initializer made late adds ops once; a habit adds some at every other step at least.
OPS_PER_STEP = 0.5
LEAST_OPS = 20
#: Sessions per run of a Session from which on they are not reused.
SESSIONS_PER_RUN = 0.3
LEAST_SESSIONS = 5


def graph_growth(facts: Facts) -> list[Finding]:
    """Ops that lines of the user's add to a graph that is being run, at step after step."""
    lines = [c for c in facts.tallies_of("graph-op") if c.count >= LEAST_OPS and c.late > 0.25]
    added = sum(c.count for c in lines)
    steps = max(1, facts.steps)
    if not lines or added < OPS_PER_STEP * steps:
        return []
    runs = facts.streams_of("session-run")
    ops = facts.gauges.get("graph ops")
    worst = lines[0]
    rise = ""
    if facts.step is not None and facts.step.trend is not None and facts.step.trend.direction == "rising":
        before, now = facts.step.trend.ends(steps)
        rise = f"; a step takes {ms(before)} at first and {ms(now)} now"
    others = f" ({len(lines)} lines together)" if len(lines) > 1 else ""
    made = finding(
        facts,
        "graph-growth",
        (worst.file, worst.line),
        f"+{per_step(added, steps)} ops per step{others}"
        + (f", {ops.last:,.0f} ops by now" if ops else "")
        + rise
        + ".",
        sum(r.seconds for r in runs),
        weight=0.9,  # a new op is prepared at its first run: hardly anything of these runs is computing
        since=worst.since,
        ops_per_step=added / steps,
        ops=ops.last if ops else added,
        lines=[f"{short(c.file)}:{c.line} +{c.count}" for c in lines[:5]],
    )
    return [made] if made else []


def sessions(facts: Facts) -> list[Finding]:
    lines = [c for c in facts.tallies_of("session") if c.count >= LEAST_SESSIONS]
    runs = facts.streams_of("session-run")
    total = sum(r.calls for r in runs)
    opened = sum(c.count for c in lines)
    left, rss = facts.gauges.get("open sessions"), facts.gauges.get("rss")
    # The most, not the last: what a function has kept goes when it returns, at the end of the program.
    leak = left is not None and left.largest >= 0.5 * opened
    often = opened >= SESSIONS_PER_RUN * max(total, 1)
    grown = grew(facts) if leak and lines and lines[0].late > 0.2 else 0.0
    heavy = rss is not None and grown >= max(LEAK, SLOW_LEAK * rss.last)
    if not lines or not (often or heavy):
        return []
    worst = lines[0]
    tail = f"; {left.largest:.0f} of them stayed open" if leak and left else ""
    made = finding(
        facts,
        "session-leak" if leak else "session-per-step",
        (worst.file, worst.line),
        f"{opened} Sessions were opened for {total} runs{tail}; "
        + (
            f"a run takes {ms(runs[0].median) if runs else '?'}."
            if often
            else f"memory grew by {size(grown)}."
        ),
        # Who runs each of them for long pays in memory.
        sum(r.seconds for r in runs) + facts.at_line(worst.file, worst.line) if often else None,
        weight=0.85,  # the first run of a Session is its dearest
        since=worst.since,
        sessions=opened,
        runs=total,
        open=left.largest if left else None,
        memory_share=grown / rss.last if rss and rss.last else None,
    )
    return [made] if made else []


RULES = (graph_growth, sessions)
