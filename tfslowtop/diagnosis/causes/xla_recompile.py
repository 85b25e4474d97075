"""xla-recompile: XLA compiles a function again for each new shape."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import STREAM_FUNCTION, STREAM_STEP, TALLY_XLA_SHAPE
from ..cause import Area, Cause, Detector
from ..facts import Facts, TallyFacts
from ..finding import Finding
from ..make import finding, ms
from ..names import XLA_RECOMPILE
from ..readings.traces import LATE, LEAST_TRACES, MANY_TRACES
from . import retrace

CAUSE = Cause(
    id=XLA_RECOMPILE,
    area=Area.TRACING,
    headline="XLA compiles a function again for each new shape",
    mechanism="XLA programs have fixed shapes: with jit_compile=True every new input shape is compiled again, even if "
    "the signature leaves that dimension open.",
    advice="Pad the input to a few sizes, so that XLA compiles one program for each of them.",
    before="score(x)",
    after="score(tf.pad(x, [[0, size - n], [0, 0]]))",
    scenario="variable_length_batches",
    explained_by=retrace.EXPLAINED_BY,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    for each in retrace.retracing(facts):
        if each.compiles:
            yield retrace.report(facts, CAUSE, each)
    for shapes in facts.tallies_of(TALLY_XLA_SHAPE):
        goes_on = shapes.count >= LEAST_TRACES and shapes.late >= LATE
        if shapes.file and (goes_on or shapes.count >= MANY_TRACES):
            yield _without_retracing(facts, shapes)


def _without_retracing(facts: Facts, shapes: TallyFacts) -> Finding | None:
    """An open signature avoids the traces, but XLA still compiles for each shape."""
    own = [f for f in facts.streams_of(STREAM_FUNCTION, STREAM_STEP) if f.name == shapes.symbol]
    calls = max([shapes.count, *(f.calls for f in own)])
    others = calls - shapes.count  # a call that has just ended may be in only one of the two numbers
    known_seconds = max(0.0, sum(f.seconds for f in own) - shapes.seconds)
    known = known_seconds / others if others >= LEAST_TRACES else 0.0
    usual = f", {ms(known)} at a known one" if known else ""
    return finding(
        facts,
        CAUSE,
        shapes.site,
        f"XLA compiled {shapes.symbol} for {shapes.count} shapes in {calls} calls: a call takes "
        f"{ms(shapes.seconds / shapes.count)} at a new shape{usual}.",
        max(0.0, shapes.seconds - shapes.count * known),
        at_most=True,  # the calls that compiled also ran
        symbol=shapes.symbol,
        since=shapes.since,
        shapes=shapes.count,
        calls=calls,
        function_library=False,
    )


DETECTOR = Detector(detect, (CAUSE,))
