"""An FFT inside tf.numpy_function against TensorFlow's own."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="FFT inside tf.numpy_function",
    kind="constant penalty",
    claim="An FFT inside tf.numpy_function is slow because data must leave the graph.",
    source="003, examples 1 and 2",
    mechanism=(
        "Nearly all of the time is the transform itself: NumPy's alone, with no TensorFlow around it, takes "
        "about as long, so leaving the graph is the smaller part. "
        "Nor does tf.signal help by itself: its complex FFT is no faster here. "
        "The input is real, and what helps in both is the real FFT, which leaves out the mirror image."
    ),
    example=(
        "Both run as written, and neither times anything. Their data is real, yet both compute the full "
        "complex spectrum."
    ),
    params=(Param("size", 1024, "rows, and points per row", minimum=4, gpu=4096),),
    fixes=(
        Fix("tf_signal", "use tf.signal instead of np.fft in tf.numpy_function", half=True),
        Fix("rfft", "use the real FFT: the wanted half only, without its mirror image"),
        Fix("no_bridge", "call np.fft directly, with no TensorFlow around it", half=True),
    ),
    cure=("tf_signal", "rfft"),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    array = np.random.default_rng(7).normal(size=(params.size, params.size))
    return SimpleNamespace(
        wanted=params.size // 2 + 1,  # the input is real: the other points are the mirror image of these
        array=array,
        tensor=tf.constant(array),
        bridged_fft=tf.function(lambda x: tf.numpy_function(np.fft.fft, [x], tf.complex128)),
        bridged_rfft=tf.function(lambda x: tf.numpy_function(np.fft.rfft, [x], tf.complex128)),
        tf_fft=tf.function(lambda x: tf.signal.fft(tf.cast(x, tf.complex128))),
        tf_rfft=tf.function(tf.signal.rfft),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> np.ndarray:
    if fixes.tf_signal:
        spectrum = s.tf_rfft(s.tensor) if fixes.rfft else s.tf_fft(s.tensor)
    elif fixes.no_bridge:
        spectrum = np.fft.rfft(s.array) if fixes.rfft else np.fft.fft(s.array)
    else:
        spectrum = s.bridged_rfft(s.tensor) if fixes.rfft else s.bridged_fft(s.tensor)
    return np.asarray(
        spectrum[0, : s.wanted]
    )  # the first row will do: a copy of all would cost as much again
