"""A parallel map over calls that hold the interpreter lock, and over calls that let go of it."""

import ctypes
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
        "Python code holds the interpreter lock while it runs, so the calls of a parallel map take turns; "
        "code that lets go of the lock, as NumPy does in large operations, runs side by side. "
        "Here each call waits in C, with the lock held or without, so that no free core is needed to see "
        "the difference. "
        "It is the function that decides, not tf.numpy_function."
    ),
    example="None: prose only. The article's examples make one call at a time.",
    params=(
        Param("elements", 8, "elements that go through the map per iteration", minimum=1),
        Param("calls", 4, "calls at a time, at most one per core (TensorFlow's threads)", minimum=1),
        Param("wait", 2.0, "milliseconds that each call takes", minimum=0.1),
    ),
    fixes=(
        Fix("release_lock", "call code that lets go of the lock, as NumPy's large operations do"),
        Fix("parallel", "give the map num_parallel_calls", half=True),
    ),
    base=("parallel",),
    cure=("release_lock",),
)

# The same C function: ctypes lets go of the lock around a call through CDLL, not through PyDLL.
LOCK_HELD, LOCK_RELEASED = ctypes.PyDLL(None).usleep, ctypes.CDLL(None).usleep


def setup(params: Params) -> SimpleNamespace:
    microseconds = int(params.wait * 1000)

    def doubling(wait: Callable[[int], int]) -> Callable[[tf.Tensor], tf.Tensor]:
        def double(x: np.ndarray) -> np.ndarray:
            wait(microseconds)
            return x * 2

        return lambda x: tf.numpy_function(double, [x], tf.float32)

    elements = tf.data.Dataset.range(params.elements, output_type=tf.float32).repeat()
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.inject_prefetch = False  # nothing is computed between iterations

    def pipeline(wait: Callable[[int], int], calls: int | None) -> Iterator[tf.Tensor]:
        mapped = elements.map(doubling(wait), num_parallel_calls=calls)
        return iter(mapped.batch(params.elements).with_options(options))

    return SimpleNamespace(
        held=pipeline(LOCK_HELD, None),
        held_parallel=pipeline(LOCK_HELD, params.calls),
        released=pipeline(LOCK_RELEASED, None),
        released_parallel=pipeline(LOCK_RELEASED, params.calls),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.release_lock:
        pipeline = s.released_parallel if fixes.parallel else s.released
    else:
        pipeline = s.held_parallel if fixes.parallel else s.held
    return float(tf.reduce_sum(next(pipeline)))
