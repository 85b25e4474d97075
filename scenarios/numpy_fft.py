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
        "The input is real, and a complex FFT also computes the mirror image of each spectrum: the real FFT "
        "takes about half the CPU time, in NumPy and in TensorFlow. "
        "At this size np.fft.fft without any TensorFlow takes most of the time too, so the bridge is the "
        "smaller part. "
        "Changing only to tf.signal.fft was not reliably faster here: it makes two large new buffers, and "
        "page faults for them can cost as much as the FFT."
    ),
    example=(
        "Both run as written, and neither times anything. Their data is real, yet both compute the full "
        "complex spectrum."
    ),
    params=(Param("size", 512, "rows, and points per row", minimum=4, gpu=1024),),
    fixes=(
        Fix("tf_signal", "use tf.signal instead of np.fft in tf.numpy_function"),
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
