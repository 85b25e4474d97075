"""The gradient through tf.numpy_function is None; what it costs to get it back."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="No gradient through tf.numpy_function",
    kind="constant penalty",
    claim="Gradients do not pass tf.numpy_function, so they must be written by hand.",
    source="003, section 1, fourth bullet",
    mechanism=(
        "tf.numpy_function has no gradient: tape.gradient gives None, and without an error. "
        "tf.py_function records one, but goes back into Python for the backward pass too, and costs more "
        "than twice the CPU time of a gradient written by hand. "
        "TensorFlow's own op needs neither and is the cheapest."
    ),
    example="None: prose only. No example takes a gradient.",
    params=(Param("size", 64, "rows and columns of the matrix", minimum=1, gpu=1024),),
    fixes=(
        Fix("py_function", "use tf.py_function with TensorFlow ops: it records a gradient"),
        Fix("custom_gradient", "keep NumPy and write the gradient by hand: tf.custom_gradient"),
        Fix("native", "use TensorFlow's own op"),
    ),
    base=("py_function",),
    cure=("custom_gradient",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def numpy_square(x: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(tf.numpy_function(np.square, [x], tf.float32), x.shape)


def py_square(x: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(tf.py_function(tf.square, [x], tf.float32), x.shape)


@tf.custom_gradient
def custom_square(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    return numpy_square(x), lambda upstream: 2.0 * x * upstream


def loss_and_gradient(square: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor], tuple]:
    @tf.function
    def run(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(square(x))
        return loss, tape.gradient(loss, x)

    return run


def setup(params: Params) -> SimpleNamespace:
    return SimpleNamespace(
        x=tf.random.stateless_uniform([params.size, params.size], [1, 2]),
        numpy_square=loss_and_gradient(numpy_square),
        py_square=loss_and_gradient(py_square),
        custom_square=loss_and_gradient(custom_square),
        native_square=loss_and_gradient(tf.square),
        lost=0,
        norms={},
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.native:
        loss, gradient = s.native_square(s.x)
    elif fixes.custom_gradient:
        loss, gradient = s.custom_square(s.x)
    elif fixes.py_function:
        loss, gradient = s.py_square(s.x)
    else:
        loss, gradient = s.numpy_square(s.x)
    if gradient is None:
        s.lost += 1
        s.norms.clear()
    else:
        s.norms["gradient norm"] = float(np.linalg.norm(gradient))
    return float(loss)


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"gradients that were None": s.lost, **s.norms}
