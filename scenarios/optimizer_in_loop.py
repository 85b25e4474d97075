"""A new optimizer at every step: its variables are made again each time, and leave something behind."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="The optimizer is created at every step",
    kind="leaks",
    claim="Making a new optimizer inside the training step slows every step.",
    source="added: a train_step function that begins with optimizer = SGD(...)",
    mechanism=(
        "A Keras optimizer owns TensorFlow variables (a step count, the learning rate, more for "
        "momentum), and making them takes about as long as the update itself. "
        "Each new optimizer gets a numbered name, and TensorFlow caches a kernel for every new variable "
        "name, so memory grows although the optimizer is gone. "
        "With momentum or Adam it would also forget what it had learnt about the gradients."
    ),
    params=(
        Param("units", 16, "units in the hidden layer", minimum=1, gpu=4096),
        Param("batch", 16, "rows per step", minimum=1, gpu=1024),
    ),
    fixes=(
        Fix("hoist", "make the optimizer once, before the loop"),
        Fix("fixed_name", "give each new optimizer the same name: stops the leak only", half=True),
        Fix(
            "graph_step", "put the update into the step's tf.function too (needs the hoisted one)", half=True
        ),
    ),
    cure=("hoist",),
)


def setup(params: Params) -> SimpleNamespace:
    tf.keras.utils.set_random_seed(7)
    model = tf.keras.Sequential(
        [tf.keras.Input((32,)), tf.keras.layers.Dense(params.units, "relu"), tf.keras.layers.Dense(1)]
    )
    weights = model.trainable_variables
    optimizer = tf.keras.optimizers.SGD(0.001)
    optimizer.build(weights)

    def gradients(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        return loss, tape.gradient(loss, weights)

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        loss, gradient = gradients(x, y)
        optimizer.apply(gradient, weights)
        return loss

    return SimpleNamespace(
        weights=weights,
        optimizer=optimizer,
        gradients=tf.function(gradients),
        graph_step=tf.function(step),
        x=tf.random.stateless_normal([params.batch, 32], seed=(7, 7)),
        y=tf.random.stateless_normal([params.batch, 1], seed=(8, 8)),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.hoist and fixes.graph_step:
        loss = s.graph_step(s.x, s.y)
    else:
        if fixes.hoist:
            optimizer = s.optimizer
        elif fixes.fixed_name:
            optimizer = tf.keras.optimizers.SGD(0.001, name="sgd")
        else:
            optimizer = tf.keras.optimizers.SGD(0.001)
        loss, gradient = s.gradients(s.x, s.y)
        optimizer.apply(gradient, s.weights)
    return float(loss)
