"""The same NumPy array handed to TensorFlow at every iteration: copied, and cast, each time."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="NumPy data copied and cast per iteration",
    kind="constant penalty",
    claim="Moving data to the device again and again is a bottleneck that gets worse.",
    source="000, section 4",
    mechanism=(
        "A NumPy array that is turned into a tensor in the loop is copied each time, and a float64 one is "
        "cast to float32 as well. "
        "The price is the same at every iteration: it does not get worse. "
        "The copy over the bus and the memory of a GPU need a GPU: neither was measured here."
    ),
    example=(
        "None of its own. But its third example feeds a float64 array to a float32 placeholder, so each "
        "of its runs copies and casts, as here."
    ),
    params=(Param("size", 2_000_000, "numbers in the array", minimum=1, gpu=50_000_000),),
    fixes=(
        Fix("match_dtype", "keep the NumPy array in float32: a copy, but no cast", half=True),
        Fix("keep_tensor", "make the tensor once, before the loop"),
    ),
    cure=("keep_tensor",),
)


def setup(params: Params) -> SimpleNamespace:
    float64 = np.random.default_rng(7).random(params.size)
    float32 = float64.astype(np.float32)
    return SimpleNamespace(float64=float64, float32=float32, tensor=tf.constant(float32))


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.keep_tensor:
        x = s.tensor
    elif fixes.match_dtype:
        x = tf.constant(s.float32)
    else:
        x = tf.constant(s.float64, tf.float32)
    return float(tf.reduce_sum(x))
