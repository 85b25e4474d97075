"""A matrix product in a tf.function against NumPy, in double and in single precision."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Matrix product: tf.function or NumPy",
    kind="constant penalty",
    claim="For a large matrix product tf.function pays off and beats NumPy.",
    source="004, example 2",
    mechanism=(
        "NumPy makes float64 by default, and in float64 TensorFlow's product is the slower one on a CPU, "
        "thread for thread. "
        "For small matrices most of the time is the call, and NumPy wins by far more. "
        "For large ones float32 helps both; copying NumPy arrays into the call is a small part."
    ),
    example=(
        "Runs as written, but times only the first call, trace included. The gain that it expects does not "
        "show in float64 on a CPU; a GPU was not measured here."
    ),
    params=(Param("size", 500, "rows and columns", choices=(100, 500, 1000, 4000), gpu=4000),),
    fixes=(
        Fix("use_numpy", "multiply with np.matmul instead of tf.matmul"),
        Fix("float32", "keep the matrices in float32 instead of NumPy's default float64"),
        Fix("pass_tensors", "pass tensors made before the loop instead of NumPy arrays", half=True),
    ),
    cure=("use_numpy",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"OPENBLAS_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    double = np.random.default_rng(7).random((2, params.size, params.size))
    single = double.astype(np.float32)
    return SimpleNamespace(
        double=tuple(double),
        single=tuple(single),
        double_tensors=(tf.constant(double[0]), tf.constant(double[1])),
        single_tensors=(tf.constant(single[0]), tf.constant(single[1])),
        matmul=tf.function(tf.matmul),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> np.ndarray:
    if fixes.use_numpy:
        x, y = s.single if fixes.float32 else s.double
        return np.matmul(x, y)
    if fixes.pass_tensors:
        x, y = s.single_tensors if fixes.float32 else s.double_tensors
    else:
        x, y = s.single if fixes.float32 else s.double
    return s.matmul(x, y).numpy()
