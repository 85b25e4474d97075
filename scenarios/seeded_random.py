"""Random numbers drawn eagerly after tf.random.set_seed: every draw leaves a kernel behind."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Eager random numbers after set_seed",
    kind="leaks",
    claim="With tf.random.set_seed, drawing random numbers in an eager loop eats memory.",
    source="added: set_seed for a reproducible run, then tf.random.normal in an eager loop",
    mechanism=(
        "Once a global seed is set, each eager random op is given a new seed of its own, as an attribute. "
        "TensorFlow keeps a kernel for every set of attributes it has met, so each draw makes one that is "
        "never used again. "
        "Stateless ops and tf.random.Generator take the seed as data, and one kernel serves all draws."
    ),
    params=(
        Param("draws", 10, "tensors drawn per iteration", minimum=1),
        Param("size", 1000, "numbers in each", minimum=1, gpu=1_000_000),
    ),
    fixes=(
        Fix("stateless", "tf.random.stateless_normal with a seed made of the step's number"),
        Fix("generator", "one tf.random.Generator.from_seed, made before the loop"),
        Fix("seed_again", "call set_seed in each iteration: it empties the cache, at a price", half=True),
    ),
    cure=("stateless",),
)


def setup(params: Params) -> SimpleNamespace:
    tf.random.set_seed(7)
    return SimpleNamespace(
        draws=params.draws, shape=[params.size], generator=tf.random.Generator.from_seed(7)
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.seed_again:
        tf.random.set_seed(i)
    total = 0.0
    for k in range(s.draws):
        if fixes.stateless:
            x = tf.random.stateless_normal(s.shape, seed=(i, k))
        elif fixes.generator:
            x = s.generator.normal(s.shape)
        else:
            x = tf.random.normal(s.shape)
        total += float(tf.reduce_sum(tf.abs(x)))
    return total
