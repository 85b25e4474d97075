import numpy as np
import tensorflow as tf

w = tf.Variable(tf.zeros([3, 1]))


def batches(path):
    while True:
        yield np.random.rand(6, 3).astype("float32")


@tf.function
def sgd(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - 1.0) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


def train(path):
    for batch in batches(path):  # this is the step
        yield sgd(tf.constant(batch))


losses = []
for i, loss in enumerate(train("nowhere")):  # this is the step
    losses.append(loss.numpy())
    if i == 36:
        break
# expect: 37 | # this is the step
