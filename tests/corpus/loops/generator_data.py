import numpy as np
import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


def batches(n):
    for i in range(n):
        yield tf.constant(np.random.randn(4, 8).astype("float32"))


for number, x in enumerate(batches(30)):
    train(x)
# expect: 30 | for number, x in enumerate
