import collections
import random

import numpy as np
import tensorflow as tf

buffer = collections.deque(maxlen=700)
w = tf.Variable(tf.random.normal([256, 64]) * 0.05)


@tf.function
def update(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(batch, w)))
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


for step in range(3000):
    buffer.append(np.random.rand(64, 256).astype("float32"))
    loss = update(tf.constant(random.choice(buffer)))
print(float(loss), len(buffer))
