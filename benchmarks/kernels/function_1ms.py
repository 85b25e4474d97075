"""A tf.function of about a millisecond, on one core."""

import tensorflow as tf

from tfslowtop.scenario import Fixes, Params, Scenario

SCENARIO = Scenario(title="tf.function", kind="myth", claim="-", mechanism="-")


def setup(params: Params) -> tuple:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        for _ in range(50):
            x = tf.tanh(x) * 1.01
        return x

    return step, tf.ones([4096])


def iteration(s: tuple, fixes: Fixes, i: int) -> None:
    s[0](s[1])
