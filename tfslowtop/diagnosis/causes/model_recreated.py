"""model-recreated: a model is built, compiled or loaded again and again."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import (
    STREAM_EVALUATE,
    STREAM_FIT_CALL,
    STREAM_PREDICT,
    TALLY_COMPILE,
    TALLY_GC_PAUSE,
    TALLY_LOAD,
    TALLY_MODEL,
    TALLY_WHERE,
)
from ..busy import GOES_ON, busy
from ..cause import Area, Cause, Detector
from ..facts import Facts, TallyFacts
from ..finding import Finding
from ..make import LEAST_SHARE, finding, ms
from ..names import MODEL_RECREATED
from ..readings.creation import LARGE_SHARE_OF_ROUND, LEAST, PER_ROUND, PER_STEP, recreating_lines
from ..rewriting.hoist import hoist

#: A call of fit, predict or evaluate belongs to a new model if there are no more than this many per model.
CALLS_PER_MODEL = 2
#: The share of the cost that counts where it consists of such calls: some of what they do has to be done anyway.
OVERHEAD = 0.85

CAUSE = Cause(
    id=MODEL_RECREATED,
    area=Area.RECREATED,
    headline="A model is built, compiled or loaded again and again",
    mechanism="A new model has new variables and no traced functions, so that all of them are created again. The old "
    "ones stay in memory until the garbage collector finds them.",
    advice="Build, compile or load the model once, before the loop.",
    before="for x in data:\n    model = build()\n    model(x)",
    after="model = build()\nfor x in data:\n    model(x)",
    scenario="model_in_loop",
    change=hoist,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    kinds = (TALLY_LOAD, TALLY_MODEL, TALLY_COMPILE)
    rare = not recreating_lines(facts, *kinds)
    rate = PER_ROUND if rare else PER_STEP
    lines = next((found for kind in kinds if (found := recreating_lines(facts, kind, per_step=rate))), [])
    if not lines:
        return
    worst = lines[0]
    retraced = sum(
        f.avoidable_seconds + (f.seconds if f.instances >= LEAST else 0.0)
        for f in facts.functions
        if f.library or f.instances >= LEAST
    )
    building = max(sum(facts.seconds_at(c.site) for c in lines), _seconds_in_builders(facts, lines))
    # A program that builds models again and again often clears the Keras session as often.
    clearing = sum(
        c.seconds for c in facts.tallies_of(TALLY_GC_PAUSE) if c.symbol == "clear_session" and c.is_ongoing
    )
    calls = facts.streams_of(STREAM_FIT_CALL, STREAM_PREDICT, STREAM_EVALUATE)
    called = sum(c.seconds for c in calls if c.calls <= CALLS_PER_MODEL * worst.count)
    cost = max(building, sum(c.seconds for c in lines)) + max(retraced, called) + clearing
    verb = {TALLY_LOAD: "loaded", TALLY_COMPILE: "compiled"}.get(worst.what, "built")
    name = "The model" if worst.what != TALLY_MODEL else f"The model ({worst.symbol})"
    yield finding(
        facts,
        CAUSE,
        worst.site,
        f"{name} is {verb} again at this line, {worst.count} times in {facts.steps} steps, "
        f"{ms(cost / worst.count)} each time.",
        cost,
        weight=OVERHEAD if called > retraced else 1.0,
        symbol=worst.symbol,
        since=worst.since,
        created=worst.count,
        what=worst.what,
        least=LARGE_SHARE_OF_ROUND if rare else LEAST_SHARE,
    )


def _seconds_in_builders(facts: Facts, built: list[TallyFacts]) -> float:
    """Return the seconds in the user's functions that build the models."""
    lines = {c.site for c in built if c.what == TALLY_MODEL}
    seen = [(c, busy(c).function) for c in facts.tallies_of(TALLY_WHERE) if c.late > GOES_ON]
    builders = {(c.file, first) for c, first in seen if first and c.site in lines}
    return sum(c.seconds for c, first in seen if (c.file, first) in builders)


DETECTOR = Detector(detect, (CAUSE,))
