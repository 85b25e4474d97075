"""Reading the loss with .numpy() at each step: said to stall the pipeline. On a CPU nothing waits."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="The loss read with .numpy() at each step",
    kind="myth",
    claim="Calling .numpy() at each step forces a wait and slows the loop.",
    source="000, example 2",
    mechanism=(
        "On a CPU the call of the step returns when the result is there, so .numpy() has nothing to wait "
        "for. "
        "What it copies is one number. "
        "On a GPU, where steps are queued, the wait may be real: that was not measured here."
    ),
    example=(
        "Runs as written, and ends each iteration with a .numpy(). Its time goes to drawing random "
        "numbers and to the product, not to that."
    ),
    params=(
        Param("units", 256, "units of each layer", minimum=1, gpu=8192),
        Param("rows", 128, "rows per step", minimum=1, gpu=1024),
    ),
    fixes=(Fix("read_later", "keep the loss as a tensor and read it every 50 steps"),),
    cure=("read_later",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    weights = tf.Variable(
        tf.random.stateless_normal([params.units, params.units], seed=(7, 7)) / params.units**0.5
    )

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            y = x
            for _ in range(3):
                y = tf.tanh(y @ weights)
            loss = tf.reduce_mean(tf.square(y - x))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    return SimpleNamespace(
        step=step,
        x=tf.random.stateless_normal([params.rows, params.units], seed=(8, 8)),
        losses=[],
        log=[],
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> tf.Tensor:
    loss = s.step(s.x)
    if fixes.read_later:
        s.losses.append(loss)
        if len(s.losses) == 50:
            s.log = [x.numpy() for x in s.losses]
            s.losses.clear()
    else:
        s.log = [loss.numpy()]
    return loss
