"""trace-slow: a single trace takes long, because a Python loop is unrolled into the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...agent.protocol.names import TALLY_TRACE_OPS
from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import LARGE_SHARE, finding
from ..names import RETRACES, TRACE_SLOW
from ..rewriting.statement import Change, Statement, called_name

#: Seconds that a trace takes to be worth a change: large models without loops take about as long.
SLOW_TRACE = 2.0
#: How often the same line has to add ops for it to be in a loop: stacks of layers built in a loop have fewer.
UNROLLED = 100


def _use_tf_range(statement: Statement, found: Finding) -> Change | None:
    """Replace `range` by `tf.range` in the loop around the line."""
    loop = statement.node if isinstance(statement.node, ast.For) else statement.loop
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.iter, ast.Call)
        or called_name(loop.iter) != "range"
    ):
        return None
    before = statement.header(loop)
    return Change(before, before.replace("range(", "tf.range(", 1))


CAUSE = Cause(
    id=TRACE_SLOW,
    area=Area.TRACING,
    headline="Tracing takes long because a Python loop is unrolled",
    mechanism="A Python loop inside a tf.function runs while tracing and adds its body to the graph once per "
    "iteration.",
    advice="Loop with tf.range, tf.scan or tf.while_loop, so that the graph contains the body once.",
    before="for i in range(n):",
    after="for i in tf.range(n):",
    scenario="first_call",
    explained_by=RETRACES,
    change=_use_tf_range,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    for loop in facts.tallies_of(TALLY_TRACE_OPS):
        if loop.count < UNROLLED or loop.seconds < SLOW_TRACE:
            continue
        found = finding(
            facts,
            CAUSE,
            loop.site,
            f"Tracing {loop.symbol} took {loop.seconds:.1f} s: the Python loop at this line was unrolled into about "
            f"{loop.size:,} ops.",
            loop.seconds,
            at_most=True,
            symbol=loop.symbol,
            least=LARGE_SHARE,
            ops=loop.size,
        )
        if found is not None:  # loops within the loop were unrolled with it
            yield found
            return


DETECTOR = Detector(detect, (CAUSE,))
