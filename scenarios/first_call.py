"""The first calculation against all the later ones: the first is the slow one."""

import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="The second calculation is slower",
    kind="myth",
    claim="The first calculation is the fast one; the second is slower.",
    source="001, title and section 1",
    mechanism=(
        "It is the other way round: the first call traces, compiles or sets up the graph, and the later "
        "calls only run it. "
        "Here every iteration is a later call, and the curve is flat. "
        "If second calls were the slow ones, starting over each time would help: switch it on and see."
    ),
    example=(
        "Of the article's three, the first fails on TensorFlow 2 and the other two run. In both of those the "
        "second run is the faster one."
    ),
    params=(
        Param("size", 300, "rows and columns of the matrix", minimum=1, gpu=4000),
        Param("how", "function", "how TensorFlow runs it", ("eager", "function", "xla", "session")),
    ),
    fixes=(Fix("start_over", "make everything anew, so that each calculation is a first one", half=True),),
    cure=("start_over",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def calculation(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.tanh(tf.matmul(x, x)))


def make(how: str, values: np.ndarray) -> Callable[[], float]:
    """Something to call that has never been called. Eager has nothing to make: it pays once per process."""
    x = tf.constant(values)
    if how == "session":
        with tf.Graph().as_default() as graph:
            fed = tf.compat.v1.placeholder(tf.float32, values.shape)
            total = calculation(fed)
        session = tf.compat.v1.Session(graph=graph)
        return lambda: float(session.run(total, {fed: values}))
    if how == "xla":
        compiled = tf.function(calculation, jit_compile=True)
        return lambda: float(compiled(x))
    if how == "function":
        traced = tf.function(calculation)
        return lambda: float(traced(x))
    return lambda: float(calculation(x))


def milliseconds(call: Callable[[], float]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def setup(params: Params) -> SimpleNamespace:
    values = np.random.default_rng(7).normal(size=(params.size, params.size)).astype(np.float32)
    calculate = make(params.how, values)
    return SimpleNamespace(
        how=params.how,
        values=values,
        first=milliseconds(calculate),
        second=milliseconds(calculate),
        calculate=calculate,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    calculate = make(s.how, s.values) if fixes.start_over else s.calculate
    return calculate()


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"ms of the first call": s.first, "ms of the second call": s.second}
