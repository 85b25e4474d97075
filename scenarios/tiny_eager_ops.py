"""Many tiny eager ops: each one pays TensorFlow's dispatch, which is far more than the arithmetic."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Many tiny eager ops",
    kind="constant penalty",
    claim="Many small eager calculations accumulate overhead, so later ones are slower.",
    source="001, bullet 5",
    mechanism=(
        "Each eager op goes from Python through TensorFlow's dispatch by itself, and that costs far more "
        "than arithmetic on a handful of numbers. "
        "One tf.function runs them all for one dispatch, and XLA compiles them together. "
        "The price is per op and stays the same: nothing accumulates."
    ),
    example=(
        "None: prose only. The article's eager example is one large product, the opposite of many small ops."
    ),
    params=(
        Param("ops", 100, "operations per iteration", minimum=2),
        Param("size", 8, "numbers in the tensor", minimum=1),
    ),
    fixes=(
        Fix("tf_function", "wrap the ops in tf.function"),
        Fix("xla", "tf.function(jit_compile=True)"),
        Fix("numpy", "do so little arithmetic in NumPy instead"),
    ),
    cure=("tf_function",),
)


def setup(params: Params) -> SimpleNamespace:
    def chain(x: tf.Tensor) -> tf.Tensor:
        for _ in range(params.ops // 2):
            x = x * 0.9
            x = x + 0.1
        return x

    array = np.random.default_rng(7).random(params.size, np.float32)
    s = SimpleNamespace(
        array=array,
        tensor=tf.constant(array),
        chain=chain,
        traced=tf.function(chain),
        compiled=tf.function(chain, jit_compile=True),
    )
    s.traced(s.tensor)  # traced and compiled here, so that the curve shows the steady state
    s.compiled(s.tensor)
    return s


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> np.ndarray:
    if fixes.numpy:
        return s.chain(s.array)
    if fixes.xla:
        return s.compiled(s.tensor).numpy()
    if fixes.tf_function:
        return s.traced(s.tensor).numpy()
    return s.chain(s.tensor).numpy()
