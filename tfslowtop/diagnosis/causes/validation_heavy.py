"""validation-heavy: evaluation in the course of training takes longer than the training."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import (
    STREAM_DATA_WAIT,
    STREAM_EVALUATE,
    STREAM_FIT_CALL,
    STREAM_PREDICT,
    TALLY_EVALUATES,
)
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site
from ..finding import Finding
from ..make import finding
from ..names import (
    EAGER_STEP,
    MODEL_RECREATED,
    PREDICT_LOOP,
    RETRACES,
    VALIDATION_HEAVY,
)

#: The share of the time from which on evaluation takes as long as training: reading data and starting take the rest.
LARGER_PART = 0.4
#: Rounds of evaluation before they are a habit.
LEAST_ROUNDS = 3
#: Calls of predict per step above which they are part of the step, as an agent's are.
PER_STEP = 0.05
#: What people call the function with such a loop, where it takes no elements of a dataset: an agent that acts in its
#: environment, or a generator that makes examples, computes without training, too.
_NAMES = ("eval", "valid", "accuracy", "score", "test", "metric")

CAUSE = Cause(
    id=VALIDATION_HEAVY,
    area=Area.STEP,
    headline="Evaluation takes longer than training",
    mechanism="Each round of evaluation goes through its whole data set, however little was learnt since the last one.",
    advice="Evaluate less often (validation_freq=5), or on a fixed sample (validation_steps=20), and on all data at the "
    "end.",
    before="model.fit(x, y, epochs=100, validation_data=(xv, yv))",
    after="model.fit(x, y, epochs=100, validation_data=(xv, yv), validation_freq=5)",
    scenario=None,
    explained_by=(*RETRACES, MODEL_RECREATED, PREDICT_LOOP, EAGER_STEP),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """Evaluation that goes on beside training, in Keras or in a loop of the user's."""
    fits = facts.streams_of(STREAM_FIT_CALL)
    if not facts.training and not fits:
        return
    rounds = max([*_of_keras(facts), *_of_loops(facts)], default=None)
    if rounds is None:
        return
    seconds, times, site, what = rounds
    yield finding(
        facts,
        CAUSE,
        site,
        f"{what} takes {100 * facts.share(seconds):.0f} % of the time, in {times} rounds of {seconds / times:.2g} s, "
        f"beside {facts.steps:,} steps of training.",
        seconds,
        at_most=True,
        symbol="evaluation",
        least=LARGER_PART,
        rounds=times,
    )


#: Seconds, how many times, the line, and what it is.
_Rounds = tuple[float, int, Site, str]


def _of_keras(facts: Facts) -> list[_Rounds]:
    found = []
    for call in facts.streams_of(STREAM_EVALUATE, STREAM_PREDICT):
        often = call.kind == STREAM_PREDICT and call.calls > PER_STEP * facts.steps
        if call.calls >= LEAST_ROUNDS and call.is_users and not often:
            found.append((call.seconds, call.calls, call.site, f"model.{call.kind}"))
    return found


def _of_loops(facts: Facts) -> list[_Rounds]:
    found = []
    for loop in facts.tallies_of(TALLY_EVALUATES):
        named = any(name in loop.symbol.lower() for name in _NAMES)
        is_beside = loop.size >= LEAST_ROUNDS and loop.is_users and loop.is_ongoing
        if is_beside and (loop.inside == STREAM_DATA_WAIT or named):
            found.append((loop.seconds, loop.size, loop.site, f"The loop in {loop.symbol}"))
    return found


DETECTOR = Detector(detect, (CAUSE,))
