"""A matrix product that fills every core."""

import tensorflow as tf

from tfslowtop.scenario import Fixes, Params, Scenario

SCENARIO = Scenario(title="every core", kind="myth", claim="-", mechanism="-")


def setup(params: Params) -> tf.Tensor:
    return tf.random.normal([700, 700])


def iteration(x: tf.Tensor, fixes: Fixes, i: int) -> None:
    tf.matmul(x, x)
