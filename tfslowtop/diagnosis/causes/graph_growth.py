"""graph-growth: ops are added to a graph while it is being run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...agent.protocol.names import GAUGE_GRAPH_OPS, STREAM_SESSION_RUN, TALLY_GRAPH_OP
from ..cause import Area, Cause, Detector
from ..facts import Facts, short
from ..finding import Finding
from ..make import finding, ms, per_step
from ..names import GRAPH_GROWTH
from ..rewriting.statement import Change, Statement, called_name, indented, names_assigned, names_read

#: New ops per step, and in all. A Saver or an initializer created late adds ops once; a habit adds some at every
#: other step at least.
OPS_PER_STEP = 0.5
LEAST_OPS = 20
#: The share of a line's ops that has to come in the second half of the steps: building a graph is over by then.
LATE = 0.25
#: The share of the time in Session.run that counts: each new op is prepared at its first run, and hardly anything of
#: such a run is computing.
PREPARING = 0.9
#: Lines that are listed in the evidence.
MOST_LISTED = 5


def _build_once(statement: Statement, found: Finding) -> Change | None:
    """Move the ops that are built inside the call of run out of the loop, and feed what changes."""
    loop = statement.loop
    runs = [c for c in statement.calls() if called_name(c) == "run" and c.args]
    if loop is None or not runs or not any(isinstance(n, ast.Call) for n in ast.walk(runs[0].args[0])):
        return None
    fetch = runs[0].args[0]
    fed = sorted(names_read(fetch) & names_assigned(loop))
    built = statement.source(fetch)
    for name in fed:
        built = re.sub(rf"\b{name}\b", f"{name}_in", built)
    feeds = [f"{name}_in = tf.compat.v1.placeholder(tf.float32)" for name in fed]
    entries = ", ".join(f"{name}_in: {name}" for name in fed)
    edits = [(fetch, "op")]
    if fed and len(runs[0].args) > 1:
        given = statement.source(runs[0].args[1])
        edits.append((runs[0].args[1], f"{given[:-1]}, {entries}}}"))
    elif fed:
        edits[0] = (fetch, f"op, {{{entries}}}")
    header, after = statement.header(loop), statement.edited(*edits)
    return Change(
        f"{header}\n{indented(statement.edited())}",
        "\n".join([*feeds, f"op = {built}", header, indented(after)]),
    )


CAUSE = Cause(
    id=GRAPH_GROWTH,
    area=Area.GRAPH,
    headline="Ops are added to the graph while it runs",
    mechanism="In graph mode every call of a TensorFlow function adds ops to the graph, and nothing removes them. The Session has "
    "to prepare each new op before it runs, which takes longer the larger the graph is.",
    advice="Build the ops once, before the loop, and feed what changes through a placeholder; graph.finalize() makes sure "
    "that none are added.",
    before="for value in values:\n    sess.run(tf.assign(v, value))",
    after="value_in = tf.placeholder(tf.float32)\nassign = tf.assign(v, value_in)\nfor value in values:\n"
    "    sess.run(assign, {value_in: value})",
    curve=GAUGE_GRAPH_OPS,
    scenario="graph_growth",
    change=_build_once,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    lines = [c for c in facts.tallies_of(TALLY_GRAPH_OP) if c.count >= LEAST_OPS and c.late > LATE]
    added, steps = sum(c.count for c in lines), max(1, facts.steps)
    if not lines or added < OPS_PER_STEP * steps:
        return
    worst, ops = lines[0], facts.gauges.get(GAUGE_GRAPH_OPS)
    sentence = f"The graph grows by {per_step(added, steps)} ops per step"
    sentence += f" (at {len(lines)} lines)" if len(lines) > 1 else ""
    sentence += f" and has {ops.last:,.0f} ops now" if ops else ""
    yield finding(
        facts,
        CAUSE,
        worst.site,
        f"{sentence}{_rise(facts)}.",
        sum(r.seconds for r in facts.streams_of(STREAM_SESSION_RUN)),
        weight=PREPARING,
        since=worst.since,
        ops_per_step=added / steps,
        ops=ops.last if ops else added,
        lines=[f"{short(c.file)}:{c.line} +{c.count}" for c in lines[:MOST_LISTED]],
    )


def _rise(facts: Facts) -> str:
    """Say how much slower the steps have become."""
    trend = facts.step.trend if facts.step is not None else None
    if trend is None or trend.direction != "rising":
        return ""
    before, now = trend.ends(max(1, facts.steps))
    return f"; steps went from {ms(before)} to {ms(now)}"


DETECTOR = Detector(detect, (CAUSE,))
