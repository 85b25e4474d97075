"""tf.function applied inside the loop: every call is a first call."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="tf.function created inside the loop",
    kind="constant penalty",
    claim="Code in a loop builds its graph again in every iteration.",
    source="002, section 1",
    mechanism=(
        "Each tf.function object keeps graphs of its own, so a new object has none and traces at its "
        "first call. "
        "Made inside the loop it is called once and thrown away, trace and all. "
        "The cost returns in every iteration but does not grow, and neither does memory while nothing "
        "keeps the old functions."
    ),
    example=(
        "None with tf.function: the article's first example is of the old graph mode (see graph_growth)."
    ),
    params=(
        Param("size", 10_000, "numbers in the tensor", minimum=1, gpu=10_000_000),
        Param("ops", 5, "operations inside the function", minimum=1, gpu=50),
    ),
    fixes=(
        Fix("hoist", "make the tf.function once, before the loop, and pass what changes"),
        Fix("reduce_retracing", "say reduce_retracing=True in the loop", half=True),
    ),
    cure=("hoist",),
)


def setup(params: Params) -> SimpleNamespace:
    def damp(x: tf.Tensor, rate: float | tf.Tensor) -> tf.Tensor:
        for _ in range(params.ops):
            x = tf.tanh(x * rate)
        return tf.reduce_sum(x)

    return SimpleNamespace(
        damp=damp,
        hoisted=tf.function(damp),
        x=tf.random.stateless_uniform([params.size], seed=(7, 7)),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    rate = 1.0 + 1.0 / (i + 1)
    if fixes.hoist:
        total = s.hoisted(s.x, tf.constant(rate))
    elif fixes.reduce_retracing:
        step = tf.function(lambda x: s.damp(x, rate), reduce_retracing=True)
        total = step(s.x)
    else:
        step = tf.function(lambda x: s.damp(x, rate))
        total = step(s.x)
    return float(total)
