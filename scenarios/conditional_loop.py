"""A loop with a condition, turned into graph ops by autograph."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A loop with a condition under autograph",
    kind="constant penalty",
    claim="Loops with conditions are slower in a tf.function than in plain Python.",
    source="004, example 3",
    mechanism=(
        "Autograph turns the loop and the condition into graph ops, and starting those ops takes tens of "
        "microseconds each time round. "
        "Removing the condition does not help, because the loop itself is what costs. "
        "XLA compiles the loop into machine code, a vectorised form has no loop, and plain Python is still "
        "the fastest at this size."
    ),
    example=(
        "Runs as written, but times only the first call, trace included. Later calls leave out the trace, "
        "and the loop stays slow."
    ),
    params=(Param("steps", 1000, "times round the loop", minimum=1),),
    fixes=(
        Fix("plain_python", "run the loop in plain Python"),
        Fix("vectorise", "no loop: tf.where over all numbers at once, then one sum"),
        Fix("xla", "compile the function with XLA: jit_compile=True"),
        Fix("branchless", "replace the condition by arithmetic, keep the loop", half=True),
    ),
    cure=("vectorise",),
)


def setup(params: Params) -> SimpleNamespace:
    def looped(total: tf.Tensor) -> tf.Tensor:
        for k in tf.range(params.steps):
            if k % 2 == 0:
                total += k
            else:
                total -= k
        return total

    def branchless(total: tf.Tensor) -> tf.Tensor:
        for k in tf.range(params.steps):
            total += k * (1 - 2 * (k % 2))
        return total

    def vectorised(total: tf.Tensor) -> tf.Tensor:
        k = tf.range(params.steps)
        return total + tf.reduce_sum(tf.where(k % 2 == 0, k, -k))

    return SimpleNamespace(
        steps=params.steps,
        looped=tf.function(looped),
        looped_xla=tf.function(looped, jit_compile=True),
        branchless=tf.function(branchless),
        branchless_xla=tf.function(branchless, jit_compile=True),
        vectorised=tf.function(vectorised),
        vectorised_xla=tf.function(vectorised, jit_compile=True),
    )


def in_python(steps: int, total: int) -> int:
    for k in range(steps):
        if k % 2 == 0:
            total += k
        else:
            total -= k
    return total


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> int:
    if fixes.plain_python:
        return in_python(s.steps, i)
    if fixes.vectorise:
        run = s.vectorised_xla if fixes.xla else s.vectorised
    elif fixes.branchless:
        run = s.branchless_xla if fixes.xla else s.branchless
    else:
        run = s.looped_xla if fixes.xla else s.looped
    return int(run(tf.constant(i)))
