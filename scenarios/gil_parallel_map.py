"""A parallel map over a Python function: the threads take turns, because of the interpreter lock."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A parallel map over a Python function",
    kind="constant penalty",
    claim="tf.numpy_function runs on one core, so a parallel map does not help it.",
    source="003, section 1, third bullet",
    mechanism=(
        "A function of pure Python holds the interpreter lock while it computes, so two calls of it in a "
        "parallel map take turns. "
        "Here the second call did not shorten the Python function; the native one gained nothing either on "
        "two busy cores, so how much is the lock's doing is not settled. "
        "Native ops, or whole-array NumPy inside the same tf.numpy_function, need a fraction of the CPU "
        "time and help in any case."
    ),
    params=(
        Param("elements", 8, "elements that go through the map per iteration", minimum=1),
        Param("numbers", 2000, "square roots to find per element", minimum=1, gpu=20000),
    ),
    fixes=(
        Fix("native", "write the function with TensorFlow ops instead of tf.numpy_function"),
        Fix("vectorise", "whole-array NumPy in tf.numpy_function instead of a Python loop"),
        Fix("parallel", "give the map num_parallel_calls=2", half=True),
    ),
    base=("parallel",),
    cure=("native",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)

STEPS = 20  # of Newton's method, for each square root


def number_by_number(x: np.ndarray) -> np.ndarray:
    roots = []
    for number in x.tolist():
        root = 1.0
        for _ in range(STEPS):
            root = 0.5 * (root + number / root)
        roots.append(root)
    return np.array(roots)


def whole_array(x: np.ndarray | tf.Tensor) -> np.ndarray | tf.Tensor:
    root = 0.5 * (1.0 + x)
    for _ in range(STEPS - 1):
        root = 0.5 * (root + x / root)
    return root


def setup(params: Params) -> SimpleNamespace:
    def in_python(x: tf.Tensor) -> tf.Tensor:
        return tf.numpy_function(number_by_number, [x], tf.float64)

    def in_numpy(x: tf.Tensor) -> tf.Tensor:
        return tf.numpy_function(whole_array, [x], tf.float64)

    data = np.random.default_rng(7).uniform(1, 100, (params.elements, params.numbers))
    elements = tf.data.Dataset.from_tensor_slices(data).repeat()
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.inject_prefetch = (
        False  # nothing may be computed ahead, between iterations
    )

    def pipeline(function: Callable[[tf.Tensor], tf.Tensor], calls: int | None) -> Iterator[tf.Tensor]:
        return iter(elements.map(function, num_parallel_calls=calls).with_options(options))

    return SimpleNamespace(
        elements=params.elements,
        python=pipeline(in_python, None),
        python_parallel=pipeline(in_python, 2),
        numpy=pipeline(in_numpy, None),
        numpy_parallel=pipeline(in_numpy, 2),
        native=pipeline(whole_array, None),
        native_parallel=pipeline(whole_array, 2),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.native:
        pipeline = s.native_parallel if fixes.parallel else s.native
    elif fixes.vectorise:
        pipeline = s.numpy_parallel if fixes.parallel else s.numpy
    else:
        pipeline = s.python_parallel if fixes.parallel else s.python
    return sum(float(next(pipeline)[0]) for _ in range(s.elements))
