"""A running total inside one GradientTape: each gradient goes back through all the steps before."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A running total inside one GradientTape",
    kind="grows",
    claim="A total carried along under one tape makes each gradient slower than the last.",
    source="added: total_loss += loss under one tape, gradients taken as it goes",
    mechanism=(
        "The tape remembers every op that led to the total, since the loop began. "
        "So the gradient of the total is worked out again through all earlier steps, and each step adds "
        "more. "
        "The gradient of a sum is the sum of the gradients: a tape per step gives the same number at a "
        "cost that stays flat."
    ),
    params=(
        Param("size", 32, "rows and columns of the weights", minimum=1, gpu=1024),
        Param("ops", 2, "layers in each step's loss", minimum=1, gpu=8),
    ),
    fixes=(
        Fix("tape_per_step", "open a new tape in each step and add up the gradients"),
        Fix(
            "compile_loss",
            "put each step's loss into a tf.function: less for the tape to keep",
            half=True,
        ),
    ),
    cure=("tape_per_step",),
)


def setup(params: Params) -> SimpleNamespace:
    weights = tf.Variable(tf.random.stateless_normal([params.size, params.size], seed=(7, 7)) * 0.1)

    def loss(x: tf.Tensor) -> tf.Tensor:
        for _ in range(params.ops):
            x = tf.tanh(x @ weights)
        return tf.reduce_mean(tf.square(x))

    return SimpleNamespace(
        weights=weights,
        loss=loss,
        graph_loss=tf.function(loss),
        x=tf.random.stateless_normal([16, 8, params.size], seed=(8, 8)),
        tape=tf.GradientTape(persistent=True),
        total=tf.constant(0.0),
        gradient=tf.zeros_like(weights),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> tf.Tensor:
    x = s.x[i % 16]
    loss = s.graph_loss if fixes.compile_loss else s.loss
    if fixes.tape_per_step:
        with tf.GradientTape() as tape:
            value = loss(x)
        s.gradient += tape.gradient(value, s.weights)
    else:
        with s.tape:
            s.total += loss(x)
        s.gradient = s.tape.gradient(s.total, s.weights)
    return s.gradient
