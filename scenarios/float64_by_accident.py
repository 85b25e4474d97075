"""NumPy makes float64 unless told otherwise, and TensorFlow keeps it."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="float64 by accident",
    kind="constant penalty",
    claim="Arrays that NumPy made drag the whole calculation into double precision.",
    source="004, example 2",
    mechanism=(
        "NumPy makes float64 by default, tensors made from it are float64 too, and all that follows stays"
        " that way. "
        "Twice the bytes move and each vector instruction handles half as many numbers. "
        "Cast once to float32, the same calculation takes about half the time here, and the result "
        "agrees to single precision."
    ),
    example=(
        "Runs as written. Its arrays come from np.random.rand, so the product that it times is one in "
        "float64."
    ),
    params=(Param("size", 256, "rows and columns of the matrices", minimum=1, gpu=8192),),
    fixes=(
        Fix("cast_once", "cast the arrays to float32 once, before the loop"),
        Fix("cast_each", "cast them to float32 in each iteration", half=True),
    ),
    cure=("cast_once",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    shape = (params.size, params.size)
    random = np.random.default_rng(7)
    x, weights = tf.constant(random.random(shape)), tf.constant(random.random(shape) / params.size)

    @tf.function
    def layers(x: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        for _ in range(3):
            x = tf.tanh(x @ weights)
        return tf.reduce_mean(x)

    return SimpleNamespace(
        layers=layers,
        x=x,
        weights=weights,
        x32=tf.cast(x, tf.float32),
        weights32=tf.cast(weights, tf.float32),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.cast_once:
        x, weights = s.x32, s.weights32
    elif fixes.cast_each:
        x, weights = tf.cast(s.x, tf.float32), tf.cast(s.weights, tf.float32)
    else:
        x, weights = s.x, s.weights
    return float(s.layers(x, weights))
