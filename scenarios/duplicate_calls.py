"""The same expression written eight times: TensorFlow merges its own ops, not calls of tf.numpy_function."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Repeated calls of tf.numpy_function",
    kind="constant penalty",
    claim="TensorFlow cannot optimise the graph across calls of tf.numpy_function.",
    source="003, section 1, second bullet",
    mechanism=(
        "Each tf.numpy_function gets a token of its own in the graph, so no two are equal and all of them "
        "run, also with stateful=False. "
        "Eight equal tf.matmul cost about as much as one: TensorFlow merges them. "
        "Calling the function once and using its result again comes close to that."
    ),
    example=(
        "None: prose only. The article's examples call tf.numpy_function once each, so there is nothing "
        "to merge."
    ),
    params=(
        Param("repeats", 8, "times that the same expression is written", minimum=1),
        Param("size", 200, "rows and columns of the matrix", minimum=1, gpu=1000),
    ),
    fixes=(
        Fix("native", "write the expression with tf.matmul, as often as before"),
        Fix("call_once", "call tf.numpy_function once and use its result again"),
        Fix("stateless", "promise that the function has no side effects: stateful=False", half=True),
    ),
    cure=("native",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    counts = SimpleNamespace(calls=0)

    def square(x: np.ndarray) -> np.ndarray:
        counts.calls += 1
        return x @ x

    def squared(x: tf.Tensor, stateful: bool) -> tf.Tensor:
        return tf.ensure_shape(tf.numpy_function(square, [x], tf.float32, stateful=stateful), x.shape)

    def total(results: list[tf.Tensor]) -> tf.Tensor:
        return tf.reduce_sum(tf.add_n(results))

    return SimpleNamespace(
        counts=counts,
        x=tf.random.stateless_uniform([params.size, params.size], [1, 2]),
        native=tf.function(lambda x: total([tf.matmul(x, x) for _ in range(params.repeats)])),
        once=tf.function(lambda x: total([squared(x, True)] * params.repeats)),
        once_stateless=tf.function(lambda x: total([squared(x, False)] * params.repeats)),
        repeated=tf.function(lambda x: total([squared(x, True) for _ in range(params.repeats)])),
        repeated_stateless=tf.function(lambda x: total([squared(x, False) for _ in range(params.repeats)])),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.native:
        return float(s.native(s.x))
    if fixes.call_once and fixes.stateless:
        return float(s.once_stateless(s.x))
    if fixes.call_once:
        return float(s.once(s.x))
    if fixes.stateless:
        return float(s.repeated_stateless(s.x))
    return float(s.repeated(s.x))


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"calls into Python": s.counts.calls}
