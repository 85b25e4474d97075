import os
import sys

import tensorflow as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "parts"))
from trainer import Metric, Trainer, WeightNorm  # noqa: E402


def input_fn():
    x, y = tf.random.stateless_normal([40, 3], [1, 2]), tf.random.stateless_normal([40, 1], [3, 4])
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(4)


net = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
Trainer(net, tf.keras.optimizers.SGD(0.01), [Metric(), WeightNorm()]).run(input_fn, max_steps=34)
# expect: 34 | for batch in input_fn()
