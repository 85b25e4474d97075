"""Single-threaded Python and TensorFlow: many small eager ops."""

import tensorflow as tf

from tfslowtop.scenario import Fixes, Params, Scenario

SCENARIO = Scenario(title="eager ops", kind="myth", claim="-", mechanism="-")


def setup(params: Params) -> tf.Tensor:
    return tf.ones([8])


def iteration(x: tf.Tensor, fixes: Fixes, i: int) -> None:
    for _ in range(60):
        x = x + 1.0
