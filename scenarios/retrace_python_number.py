"""A new Python number at every call: tf.function traces again each time, and each time takes longer."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A new Python number at every call",
    kind="grows",
    claim="tf.function is slower than plain Python when it gets Python numbers.",
    source="004, example 1",
    mechanism=(
        "A Python number is part of the key under which tf.function keeps its graphs, so every new number "
        "is traced again and its graph stays in memory. "
        "Before each trace the new key is compared with all keys kept so far, in Python, and the keys are "
        "hashed again on the way. "
        "So a call costs milliseconds instead of microseconds, and more with every number seen."
    ),
    example=(
        "Runs as written, but times a single call: the first, which is the trace. Both its arguments are "
        "Python numbers, so the sum is done while tracing and the graph holds only the answer."
    ),
    params=(Param("arguments", 20, "numbers passed to the function; the last one changes", minimum=2),),
    fixes=(
        Fix("pass_tensor", "pass tf.constant(i) instead of the Python number i"),
        Fix("signature", "declare input_signature: a scalar int32 tensor for each argument"),
        Fix("reduce_retracing", "set reduce_retracing=True (relaxes shapes, not numbers)", half=True),
    ),
    cure=("pass_tensor",),
)


def setup(params: Params) -> SimpleNamespace:
    def add(*numbers: int | tf.Tensor) -> int | tf.Tensor:
        return sum(numbers)

    signature = [tf.TensorSpec([], tf.int32)] * params.arguments
    return SimpleNamespace(
        add=tf.function(add),
        add_relaxed=tf.function(add, reduce_retracing=True),
        add_signed=tf.function(add, input_signature=signature),
        others=[20] * (params.arguments - 1),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> int:
    if fixes.signature:
        add = s.add_signed
    elif fixes.reduce_retracing:
        add = s.add_relaxed
    else:
        add = s.add
    last = tf.constant(i) if fixes.pass_tensor else i
    return int(add(*s.others, last))


def gauges(s: SimpleNamespace) -> dict[str, float]:
    functions = (s.add, s.add_relaxed, s.add_signed)
    return {"graphs kept": sum(f.experimental_get_tracing_count() for f in functions)}
