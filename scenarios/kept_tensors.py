"""Results kept in a list at each step: a large tensor is a leak, a loss is not."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Tensors kept in a list at every step",
    kind="leaks",
    claim="Keeping each step's tensors for later eats memory until there is none.",
    source="added: activations, predictions or losses collected in a list",
    mechanism=(
        "A tensor lives as long as something refers to it, so a list of activations holds all of their "
        "memory. "
        "The steps themselves do not get slower. "
        "A scalar loss costs less than a kilobyte, as a tensor or as a number: that is not where memory "
        "goes."
    ),
    params=(
        Param("units", 512, "units of each layer", minimum=1, gpu=8192),
        Param("rows", 64, "rows per step", minimum=1, gpu=1024),
        Param("limit", 2000, "megabytes kept at most; then the list starts again", minimum=1, gpu=8000),
    ),
    fixes=(
        Fix("keep_loss_tensor", "keep only the loss, as the small tensor that it is"),
        Fix("keep_float", "keep only the loss, as a Python number"),
    ),
    cure=("keep_loss_tensor",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    weights = tf.random.stateless_normal([params.units, params.units], seed=(7, 7)) / params.units**0.5

    @tf.function
    def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        for _ in range(6):
            x = tf.tanh(x @ weights)
        return x, tf.reduce_mean(tf.square(x))

    size = 4 * params.rows * params.units
    return SimpleNamespace(
        step=step,
        x=tf.random.stateless_normal([16, params.rows, params.units], seed=(8, 8)),
        kept=[],
        most=params.limit * 1_000_000 // size + 1,
        size=size,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    activations, loss = s.step(s.x[i % 16])
    if fixes.keep_float:
        s.kept.append(float(loss))
    elif fixes.keep_loss_tensor:
        s.kept.append(loss)
    else:
        s.kept.append(activations)
    if len(s.kept) > s.most:
        s.kept.clear()
    return float(loss)


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"results in the list": len(s.kept)}
