"""Two hundred additions of one number each, against one addition of two hundred numbers."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="One item at a time instead of a batch",
    kind="constant penalty",
    claim="Handling items one by one in a loop is far slower than one batch.",
    source="002, example 3",
    mechanism=(
        "An addition of one number costs almost nothing; converting it, dispatching the op and fetching the "
        "result cost nearly all of the time. "
        "A loop pays that once per item, a batch once in all. "
        "The penalty is the same in every iteration: the curve is high, and flat."
    ),
    example=(
        "Fails on TensorFlow 2 as written: tf.placeholder is gone, and compat.v1.placeholder needs eager "
        "execution off. It shows only the batch and times nothing."
    ),
    params=(Param("items", 200, "numbers to add per iteration", minimum=1, gpu=2000),),
    fixes=(
        Fix("batch", "give the whole array to one tf.add"),
        Fix("function_per_item", "wrap the addition of one item in a tf.function", half=True),
        Fix("loop_in_function", "put the loop over the items inside one tf.function", half=True),
    ),
    cure=("batch",),
)


def setup(params: Params) -> SimpleNamespace:
    def add_each(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return tf.stack([tf.add(a[k], b[k]) for k in range(params.items)])  # unrolled: one op per item

    numbers = np.arange(params.items, dtype=np.float32).reshape(-1, 1)
    return SimpleNamespace(
        numbers=numbers,
        doubled=numbers * 2,
        add=tf.function(tf.add),
        add_each=tf.function(add_each),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> np.ndarray:
    a, b = s.numbers + np.float32(i), s.doubled
    if fixes.batch:
        return tf.add(a, b).numpy()
    if fixes.loop_in_function:
        return s.add_each(tf.constant(a), tf.constant(b)).numpy()
    if fixes.function_per_item:
        return np.stack([s.add(tf.constant(x), tf.constant(y)).numpy() for x, y in zip(a, b, strict=True)])
    return np.stack([tf.add(x, y).numpy() for x, y in zip(a, b, strict=True)])
