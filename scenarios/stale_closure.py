"""A tf.function that reads a Python value from outside: it goes on using the first one."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A Python value that is read only once",
    kind="stale result",
    claim="Changing a Python value that a tf.function reads from outside has no effect.",
    source="added: a learning rate or a flag kept in an attribute or a global",
    mechanism=(
        "tf.function runs the Python code only while it traces, and what it read then is a constant in "
        "the graph. "
        "Later changes are ignored without a warning: the call is fast and its result is wrong. "
        "So here the fixed result differs from the broken one by design: it is the right one."
    ),
    params=(Param("size", 100_000, "numbers in the tensor", minimum=1, gpu=10_000_000),),
    fixes=(
        Fix("pass_tensor", "pass the value as a tensor argument"),
        Fix("keep_variable", "keep the value in a tf.Variable and assign to it"),
        Fix("pass_number", "pass it as a Python number: right, but traced anew for each", half=True),
    ),
    cure=("pass_tensor",),
)


def setup(params: Params) -> SimpleNamespace:
    s = SimpleNamespace(
        x=tf.fill([params.size], 1.0),
        rate=0.0,
        rate_variable=tf.Variable(0.0),
        result=0.0,
        stale=0,
    )
    s.reads_attribute = tf.function(lambda x: tf.reduce_mean(x * s.rate))
    s.reads_variable = tf.function(lambda x: tf.reduce_mean(x * s.rate_variable))
    s.takes_rate = tf.function(lambda x, rate: tf.reduce_mean(x * rate))
    return s


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    s.rate = float(i % 1000)
    if fixes.pass_tensor:
        result = s.takes_rate(s.x, tf.constant(s.rate))
    elif fixes.keep_variable:
        s.rate_variable.assign(s.rate)
        result = s.reads_variable(s.x)
    elif fixes.pass_number:
        result = s.takes_rate(s.x, s.rate)
    else:
        result = s.reads_attribute(s.x)
    s.result = float(result)
    s.stale += s.result != s.rate
    return s.result


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"rate that was set": s.rate, "rate that was used": s.result, "stale results": s.stale}
