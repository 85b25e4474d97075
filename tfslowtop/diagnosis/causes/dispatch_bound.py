"""dispatch-bound: compiled steps are so small that the price of each call dominates."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import (
    STREAM_FIT,
    STREAM_FUNCTION,
    STREAM_LIBRARY_FUNCTION,
    TALLY_GRAPH_WORK,
    TALLY_HOST_SYNC,
)
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, StreamFacts, TallyFacts
from ..finding import Finding
from ..make import finding, ms
from ..names import (
    CALLBACK_HEAVY,
    DISPATCH_BOUND,
    EAGER_STEP,
    GROWING_INPUT,
    HOST_COPY,
    INPUT_BOUND,
    OUTPUT_BOUND,
    OWN_PYTHON,
    PER_SAMPLE,
    PREDICT_LOOP,
    PYTHON_OP,
    RECREATED,
    RETRACES,
    VALIDATION_HEAVY,
)

#: The share of a call that its arithmetic may take at most. Its time is estimated from shapes with slow figures, so
#: that the rest is certainly the price of the call.
ARITHMETIC = 0.2
#: Seconds per call; a longer one does something that shapes do not show.
LONG_CALL = 5e-3
#: The share of the time that such calls take, and how many make a habit rather than a short program.
MOST = 0.5
LEAST_CALLS = 1000
#: Results read per call from which on the program reacts to each of them, as an agent does that acts one by one.
REACTS = 0.5
#: A larger batch saves most of the calls, but the larger calls take longer.
GAIN = 0.7

CAUSE = Cause(
    id=DISPATCH_BOUND,
    area=Area.STEP,
    headline="Compiled steps are so small that calling them is the work",
    mechanism="Each call of a compiled function passes through Python and TensorFlow's runtime, which takes a fraction of "
    "a millisecond whatever it computes. A step of a few thousand numbers is over long before that.",
    advice="Use larger batches, put several steps into one call (a tf.range loop inside the tf.function, or "
    "steps_per_execution in compile), or compute steps this small with NumPy.",
    before="for x, y in data:\n    train_step(x, y)",
    after="@tf.function\ndef train_steps(data):\n    for x, y in data:\n        train_step(x, y)",
    scenario="call_overhead",
    explained_by=(
        *RECREATED,
        *RETRACES,
        EAGER_STEP,
        PER_SAMPLE,
        PREDICT_LOOP,
        PYTHON_OP,
        INPUT_BOUND,
        CALLBACK_HEAVY,
        OUTPUT_BOUND,
        OWN_PYTHON,
        HOST_COPY,
        GROWING_INPUT,
        VALIDATION_HEAVY,
    ),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """The function that takes most of the time, if its shapes say that it computes next to nothing."""
    works = {(c.symbol, *c.site): c for c in facts.tallies_of(TALLY_GRAPH_WORK)}
    calls = facts.streams_of(STREAM_FUNCTION, STREAM_LIBRARY_FUNCTION)
    sized = [(call, work) for call in calls if (work := works.get((call.name, *call.site)))]
    if not sized or facts.step is None:
        return
    call, work = sized[0]
    each = call.seconds / call.calls
    if call.calls < LEAST_CALLS or call.median > LONG_CALL or _reacts(facts, call, facts.step):
        return
    if _arithmetic(work) > ARITHMETIC * call.median:
        return
    taken = min(call.seconds, facts.seconds) - _arithmetic(work) * call.calls
    yield finding(
        facts,
        CAUSE,
        _site(facts, call, facts.step),
        f"{call.name} is called {call.calls:,} times, {ms(each)} each, and the arithmetic of its {work.count:,} ops takes "
        f"at most {ms(_arithmetic(work))} of that: the rest is the price of a call.",
        taken,
        weight=GAIN,
        symbol=call.name,
        least=GAIN * MOST,
        calls=call.calls,
        ops=work.count,
        microseconds=1e6 * _arithmetic(work),
    )


def _arithmetic(work: TallyFacts) -> float:
    return work.size / 1e9


def _reacts(facts: Facts, call: StreamFacts, step: StreamFacts) -> bool:
    """Whether the program reads a result of each call; Keras does so in fit to report the loss."""
    reads = sum(c.count for c in facts.tallies_of(TALLY_HOST_SYNC))
    return step.kind != STREAM_FIT and reads > REACTS * call.calls


def _site(facts: Facts, call: StreamFacts, step: StreamFacts) -> Site:
    """Return the line that calls the function most, from the account; that of fit for Keras' own functions."""
    if step.kind == STREAM_FIT or call.kind == STREAM_LIBRARY_FUNCTION:
        return step.site
    traced = next((f for f in facts.functions if f.site == call.site), None)
    return traced.call_site if traced else call.site


DETECTOR = Detector(detect, (CAUSE,))
