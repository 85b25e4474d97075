"""A training step in eager mode: every op of the pass forwards, backwards and update starts from Python."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A training step run eagerly",
    kind="constant penalty",
    claim="A custom training loop without tf.function pays for each small op.",
    source="added: a custom training loop with GradientTape and no @tf.function",
    mechanism=(
        "Without tf.function each op of the model, its gradient and the optimizer is looked up and "
        "started from Python. "
        "In a small model that takes far longer than the arithmetic itself. "
        "As one tf.function the step is traced once, which makes the first call slow, and then runs as a "
        "graph."
    ),
    params=(
        Param("units", 32, "units in each hidden layer", minimum=1, gpu=2048),
        Param("layers", 1, "hidden layers", minimum=1, gpu=12),
        Param("batch", 32, "rows per step", minimum=1, gpu=1024),
    ),
    fixes=(
        Fix("graph_step", "decorate the whole step with tf.function"),
        Fix("xla_step", "decorate the whole step with tf.function(jit_compile=True)"),
    ),
    cure=("graph_step",),
)


def setup(params: Params) -> SimpleNamespace:
    tf.keras.utils.set_random_seed(7)
    hidden = [tf.keras.layers.Dense(params.units, "relu") for _ in range(params.layers)]
    model = tf.keras.Sequential([tf.keras.Input((32,)), *hidden, tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return SimpleNamespace(
        step=step,
        graph_step=tf.function(step),
        xla_step=tf.function(step, jit_compile=True),
        x=tf.random.stateless_normal([16, params.batch, 32], seed=(7, 7)),
        y=tf.random.stateless_normal([16, params.batch, 1], seed=(8, 8)),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    x, y = s.x[i % 16], s.y[i % 16]
    if fixes.xla_step:
        loss = s.xla_step(x, y)
    elif fixes.graph_step:
        loss = s.graph_step(x, y)
    else:
        loss = s.step(x, y)
    return float(loss)
