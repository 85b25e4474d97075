"""Python lists as arguments of a tf.function: every number in them is part of the trace key."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Python lists passed to a tf.function",
    kind="leaks",
    claim="A list of numbers as an argument makes tf.function trace again and again.",
    source="added: a row or a batch passed to a tf.function as a list of numbers",
    mechanism=(
        "Each number in a Python list is part of the key under which tf.function keeps its graphs, so a "
        "list with new numbers is traced again. "
        "Every trace takes milliseconds and stays in memory. "
        "A tensor or an array is known by its type and shape only, so one trace serves all values."
    ),
    params=(Param("length", 10, "numbers in the list", minimum=1, gpu=10),),
    fixes=(
        Fix("as_tensor", "pass tf.constant(numbers)"),
        Fix("as_array", "pass np.array(numbers, dtype=np.float32)"),
        Fix("as_tuple", "pass a tuple instead of a list", half=True),
        Fix("reduce_retracing", "say reduce_retracing=True", half=True),
    ),
    cure=("as_tensor",),
)


def setup(params: Params) -> SimpleNamespace:
    def norm(numbers: list[float] | tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.square(tf.convert_to_tensor(numbers, tf.float32)))

    return SimpleNamespace(
        norm=tf.function(norm),
        relaxed_norm=tf.function(norm, reduce_retracing=True),
        length=params.length,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    norm = s.relaxed_norm if fixes.reduce_retracing else s.norm
    numbers = [float(i + k) for k in range(s.length)]
    if fixes.as_tensor:
        return float(norm(tf.constant(numbers)))
    if fixes.as_array:
        return float(norm(np.array(numbers, dtype=np.float32)))
    if fixes.as_tuple:
        return float(norm(tuple(numbers)))
    return float(norm(numbers))
