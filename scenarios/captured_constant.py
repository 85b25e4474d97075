"""A large NumPy array read inside a tf.function: a copy of it goes into every graph that is traced."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A large array captured by a tf.function",
    kind="constant penalty",
    claim="A NumPy array that a tf.function reads from outside makes its first call slow.",
    source="added: a lookup table or weights in a NumPy array beside the function",
    mechanism=(
        "A NumPy array read inside a tf.function becomes a constant, and its bytes are copied into the "
        "graph. "
        "So each trace takes longer, and each graph weighs more, the larger the array is, while later "
        "calls run as fast as ever. "
        "A tensor made outside is only referred to; to make the cost visible, each iteration here is a "
        "first call."
    ),
    params=(Param("size", 100_000, "numbers in the array", minimum=1, gpu=25_000_000),),
    fixes=(
        Fix("capture_tensor", "make it a tensor outside: table = tf.constant(array)"),
        Fix("pass_argument", "pass the tensor as an argument"),
    ),
    cure=("capture_tensor",),
)


def setup(params: Params) -> SimpleNamespace:
    array = np.random.default_rng(7).random(params.size, dtype=np.float32)
    return SimpleNamespace(array=array, tensor=tf.constant(array))


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    # Each iteration is a first call: it makes a function, traces it and calls it once.
    if fixes.pass_argument:
        scale = tf.function(lambda x, table: tf.reduce_mean(table) * x)
        result = scale(tf.constant(2.0), s.tensor)
    elif fixes.capture_tensor:
        scale = tf.function(lambda x: tf.reduce_mean(s.tensor) * x)
        result = scale(tf.constant(2.0))
    else:
        scale = tf.function(lambda x: tf.reduce_mean(s.array) * x)
        result = scale(tf.constant(2.0))
    return float(result)
