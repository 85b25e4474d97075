"""A variable that was just assigned to, said to miss a cache of results: there is none to miss."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Variable.assign and the 'cache miss'",
    kind="myth",
    claim="A small change in a variable misses TensorFlow's cache, so the next calculation is slower.",
    source="001, bullet 2 and example 2",
    mechanism=(
        "An eager product is computed at every call, whether its inputs changed or not: no result is reused. "
        "So a product with a variable that was just assigned to costs what it costs with one that never "
        "changes. "
        "Assigning has a price of its own, mostly the cast and copy of a float64 NumPy array."
    ),
    example=(
        "Runs as written, and its second product is the faster one: the first also pays for TensorFlow's "
        "start. "
        "The assignment stands outside both timings."
    ),
    params=(Param("size", 500, "rows and columns of the matrices", minimum=1, gpu=4000),),
    fixes=(
        Fix("leave_unchanged", "assign to another variable, multiply one that never changes"),
        Fix("assign_tensor", "assign a float32 tensor instead of a float64 NumPy array"),
    ),
    cure=("leave_unchanged",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    generator = np.random.default_rng(7)
    values = [generator.random((params.size, params.size)) for _ in range(2)]
    return SimpleNamespace(
        values=values,
        tensors=[tf.constant(value, tf.float32) for value in values],
        unchanged=[tf.Variable(value, dtype=tf.float32) for value in values],
        a=tf.Variable(values[0], dtype=tf.float32),
        b=tf.Variable(generator.random((params.size, params.size)), dtype=tf.float32),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    turn = i % 2
    s.a.assign(s.tensors[turn] if fixes.assign_tensor else s.values[turn])
    # The same numbers and the same assignment either way: only the variable that is multiplied differs.
    factor = s.unchanged[turn] if fixes.leave_unchanged else s.a
    return float(tf.matmul(factor, s.b).numpy()[0, 0])
