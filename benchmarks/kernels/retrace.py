"""Pure Python work inside TensorFlow: a trace at every iteration, of a size that does not grow."""

import tensorflow as tf

from tfslowtop.scenario import Fixes, Params, Scenario

SCENARIO = Scenario(title="retrace", kind="myth", claim="-", mechanism="-")


def setup(params: Params) -> None:
    return None


def iteration(s: None, fixes: Fixes, i: int) -> None:
    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        for _ in range(20):
            x = x + 1.0
        return x

    step(tf.ones([8]))
