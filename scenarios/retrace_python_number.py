"""A new Python number at every call: tf.function traces again each time."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="tf.function retraces on each new Python number",
    kind="grows",
    claim="tf.function is slower than plain Python when it gets Python numbers.",
    source="004, example 1",
    mechanism=(
        "A Python number is part of the key under which tf.function keeps its graphs, so every new number is traced "
        "again. "
        "All old graphs stay in memory, and each miss is compared with all of them. "
        "So a call costs milliseconds instead of microseconds, and slowly more with every number seen."
    ),
    example=(
        "Runs as written, but times a single call: the first, which is the trace. With the same number again no "
        "trace is made."
    ),
    params=(Param("ops", 1, "additions inside the function", minimum=1),),
    fixes=(
        Fix("pass_tensor", "pass tf.constant(i) instead of the Python number i"),
        Fix("signature", "declare input_signature=[TensorSpec([], int32)]"),
    ),
    cure=("pass_tensor",),
)


def setup(params: Params) -> SimpleNamespace:
    def add(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        for _ in range(params.ops):
            x = x + y
        return x

    number = tf.TensorSpec([], tf.int32)
    return SimpleNamespace(
        add=tf.function(add),
        add_signed=tf.function(add, input_signature=[number, number]),
        twenty=tf.constant(20),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> int:
    add = s.add_signed if fixes.signature else s.add
    if fixes.pass_tensor:
        return int(add(tf.constant(i), s.twenty))
    return int(add(i, 20))
