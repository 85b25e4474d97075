"""Large tensors handed to tf.numpy_function: said to be copied each way. On a CPU they are not."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Large tensors through tf.numpy_function",
    kind="myth",
    claim="Moving a large tensor through tf.numpy_function and back dominates the time.",
    source="003, section 1, first bullet",
    mechanism=(
        "On a CPU nothing is transferred: the NumPy array is the tensor's own memory, at the same address, "
        "on the way in and on the way out. "
        "So sixteen megabytes cross as fast as one number, and slicing first gains nothing. "
        "What is left is a fixed cost per call; what a GPU's memory would add was not measured here."
    ),
    example=(
        "None of its own. The FFT example sends 8 MB through tf.numpy_function, but times nothing (see "
        "numpy_fft)."
    ),
    params=(
        Param("size", 4000000, "numbers in the tensor (4 bytes each)", minimum=1, gpu=40000000),
        Param("crossings", 10, "calls of tf.numpy_function per iteration", minimum=1),
        Param("copy", 0, "1 makes a real copy inside, to see what copying would cost", choices=(0, 1)),
    ),
    fixes=(
        Fix("slice_first", "cut out the one number needed before the crossing, not after"),
        Fix("native", "do not cross at all: x[k] in TensorFlow"),
    ),
    cure=("slice_first",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    def python_side(array: np.ndarray) -> np.ndarray:
        return array.copy() if params.copy else array

    @tf.function
    def cross_whole(x: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        return tf.numpy_function(python_side, [x], tf.float32)[k]

    @tf.function
    def cross_one(x: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        return tf.numpy_function(python_side, [x[k]], tf.float32)

    @tf.function
    def stay(x: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        return x[k]

    return SimpleNamespace(
        x=tf.range(params.size, dtype=tf.float32),
        size=params.size,
        crossings=params.crossings,
        cross_whole=cross_whole,
        cross_one=cross_one,
        stay=stay,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.native:
        function = s.stay
    elif fixes.slice_first:
        function = s.cross_one
    else:
        function = s.cross_whole
    total = 0.0
    for crossing in range(s.crossings):
        total += float(function(s.x, tf.constant((i + crossing) % s.size)))
    return total
