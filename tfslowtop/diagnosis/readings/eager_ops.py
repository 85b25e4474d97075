"""Eager ops: how many a step runs, what they take, and at which lines."""

from __future__ import annotations

import math

from ...agent.protocol.names import (
    GAUGE_EAGER_OPS,
    GAUGE_RUN_EAGERLY,
    SETTING_EAGER,
    STREAM_DATA_WAIT,
    STREAM_EVALUATE,
    STREAM_FIT,
    STREAM_FIT_CALL,
    STREAM_FUNCTION,
    STREAM_LIBRARY_FUNCTION,
    STREAM_LOOP,
    STREAM_PREDICT,
    STREAM_PREDICT_ON_BATCH,
    STREAM_SESSION_RUN,
    STREAM_TRAIN_ON_BATCH,
    TALLY_EAGER_OP,
    TALLY_SETTING,
)
from ..facts import Facts, StreamFacts, TallyFacts

#: Iterations of an outer loop, and iterations of the inner one in each of them: fewer are a warm-up and a run.
LEAST_ROUNDS = 5
#: The share of the step's time that a loop has to take to be the one around it.
AROUND = 0.9

#: The gauge that says that tf.config.run_functions_eagerly is on.
_RUN_EAGERLY = GAUGE_RUN_EAGERLY
#: Streams whose time is not that of eager ops.
_COMPILED = (
    STREAM_FUNCTION,
    STREAM_SESSION_RUN,
    STREAM_PREDICT,
    STREAM_EVALUATE,
    STREAM_FIT_CALL,
    STREAM_PREDICT_ON_BATCH,
    STREAM_TRAIN_ON_BATCH,
)


def functions_run_eagerly(facts: Facts) -> bool:
    """Return whether tf.config.run_functions_eagerly is on, so that tf.functions consist of eager ops."""
    return _RUN_EAGERLY in facts.gauges


def eager_switch(facts: Facts) -> TallyFacts | None:
    """Return the line that has switched on tf.config.run_functions_eagerly, where it is known."""
    return next((c for c in facts.tallies_of(TALLY_SETTING) if c.symbol == SETTING_EAGER and c.size), None)


def compiled_seconds(facts: Facts) -> float:
    """Return the seconds of the step in calls that are not eager ops."""
    # The call of fit contains all of its steps; their graphs are functions of Keras.
    fitting = facts.step is not None and facts.step.kind == STREAM_FIT
    kinds = {*_COMPILED, STREAM_LIBRARY_FUNCTION} - {STREAM_FIT_CALL} if fitting else {*_COMPILED}
    if functions_run_eagerly(facts):
        kinds -= {STREAM_FUNCTION, STREAM_LIBRARY_FUNCTION}
    return sum(c.seconds for c in facts.streams_of(*kinds, STREAM_DATA_WAIT))


def ops_per_step(facts: Facts) -> float:
    """Return the eager ops per step, or 0 where they are unknown."""
    rate, step = facts.gauges.get(GAUGE_EAGER_OPS), facts.step
    if rate is None or step is None or not step.calls or rate.trend is None:
        return 0.0
    level = rate.trend.level if math.isfinite(rate.trend.level) else rate.last
    if level < 1:  # the trend has not caught up with a loop that has just begun
        level = max(level, rate.last)
    return level * step.seconds / step.calls


def busiest_line(facts: Facts, *ops: str) -> TallyFacts | None:
    """Return the line with most of the sampled eager ops, or with most of the ops of these names."""
    counts: dict[tuple[str, int], int] = {}
    samples = facts.tallies_of(TALLY_EAGER_OP)
    for c in samples:
        if c.file and c.is_ongoing and (not ops or c.symbol in ops):
            counts[c.site] = counts.get(c.site, 0) + c.count
    if not counts:
        return None
    site = max(counts, key=lambda s: counts[s])
    return next(c for c in samples if c.site == site)


def outer_loop(facts: Facts, step: StreamFacts) -> StreamFacts | None:
    """Return the loop around the step that runs several steps in each of its iterations."""
    loops = [
        c
        for c in facts.streams_of(STREAM_LOOP)
        if c.seconds >= AROUND * step.seconds and LEAST_ROUNDS <= c.calls <= step.calls / LEAST_ROUNDS
    ]
    return max(loops, key=lambda c: c.calls, default=None)
