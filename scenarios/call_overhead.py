"""One addition per tf.function call: the call costs far more than the addition."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="One addition per tf.function call",
    kind="constant penalty",
    claim="For simple arithmetic, calling a tf.function costs more than plain Python.",
    source="004, example 1",
    mechanism=(
        "Every call of a tf.function checks its arguments, finds its graph and starts the runtime, which "
        "takes thousands of times as long as one addition. "
        "Tensors instead of Python numbers do not change that much, and the cost is the same at each call. "
        "Many additions in one call share the cost, but plain Python stays far ahead for numbers like "
        "these."
    ),
    example=(
        "Runs as written, but times only the first call, which is the trace. Its two arguments are Python "
        "numbers, so the graph holds just the answer and no addition."
    ),
    params=(Param("calls", 20, "additions per iteration", minimum=1),),
    fixes=(
        Fix("plain_python", "add the numbers in plain Python"),
        Fix("one_call", "put all additions into one tf.function call", half=True),
        Fix("pass_tensors", "pass tensors instead of the two Python numbers", half=True),
    ),
    cure=("plain_python",),
)


def setup(params: Params) -> SimpleNamespace:
    def add(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return x + y

    def add_often(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return sum(add(x, y) for _ in range(params.calls))

    return SimpleNamespace(
        calls=params.calls,
        tensors=(tf.constant(10), tf.constant(20)),
        add=tf.function(add),
        add_often=tf.function(add_often),
        python_add=add,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> int:
    if fixes.plain_python:
        return sum(s.python_add(10, 20) for _ in range(s.calls))
    x, y = s.tensors if fixes.pass_tensors else (10, 20)
    if fixes.one_call:
        return int(s.add_often(x, y))
    return sum(int(s.add(x, y)) for _ in range(s.calls))
