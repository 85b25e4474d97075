"""A small training loop on the real TensorFlow, with a pool and an exit code."""

import multiprocessing
import sys

import tensorflow as tf

tf.random.set_seed(1)
weights = tf.Variable(tf.random.normal([8, 1]))
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weights - y) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


def square(x):
    return x * x


if __name__ == "__main__":
    x = tf.random.normal([32, 8])
    y = tf.reduce_sum(x, 1, keepdims=True)
    losses = [float(train_step(x, y)) for _ in range(20)]
    print("result", [loss.hex() for loss in losses])
    print("result", [float(w).hex() for w in weights[:, 0]])
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print("result", pool.map(square, [1, 2, 3]))
    sys.exit(3)
