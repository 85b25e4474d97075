"""A new shape at every call: tf.function traces again each time."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="tf.function retraces on each new shape",
    kind="leaks",
    claim="Inputs whose size changes from run to run make later runs slower.",
    source="001, bullet 1 (its claim in the form that is true)",
    mechanism=(
        "The shape of a tensor is part of the key under which tf.function keeps its graphs, so every new "
        "length is traced again. "
        "That costs far more than the work itself, and the graphs stay in memory, for as long as new lengths "
        "arrive. "
        "With an unknown dimension in the signature, or reduce_retracing, one or two graphs serve all "
        "lengths."
    ),
    example=(
        "The article's first example changes the size once, in a Session, where nothing is traced again "
        "(see unknown_dimension)."
    ),
    params=(
        Param("shapes", 20_000, "different lengths before the first one comes again", minimum=1),
        Param("ops", 3, "operations inside the function", minimum=1),
    ),
    fixes=(
        Fix("signature", "declare input_signature=[TensorSpec([None], float32)]"),
        Fix("reduce_retracing", "tf.function(reduce_retracing=True)"),
        Fix("pad", "pad with zeros to the next power of two: few shapes, more work", half=True),
    ),
    cure=("signature",),
)


def setup(params: Params) -> SimpleNamespace:
    def energy(x: tf.Tensor) -> tf.Tensor:
        y = x
        for _ in range(params.ops):
            y = tf.tanh(y)
        return tf.reduce_sum(x * y)

    return SimpleNamespace(
        data=tf.random.stateless_normal([1000 + params.shapes], [7, 7]),
        shapes=params.shapes,
        energy=tf.function(energy),
        signed=tf.function(energy, input_signature=[tf.TensorSpec([None], tf.float32)]),
        relaxed=tf.function(energy, reduce_retracing=True),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    length = 1000 + i * 7919 % s.shapes  # 7919 is prime: every length comes once before one comes again
    x = s.data[:length]
    if fixes.pad:
        x = tf.pad(x, [[0, (1 << length.bit_length()) - length]])
    if fixes.signature:
        return float(s.signed(x))
    if fixes.reduce_retracing:
        return float(s.relaxed(x))
    return float(s.energy(x))
