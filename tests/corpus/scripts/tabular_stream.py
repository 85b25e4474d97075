import numpy as np
import tensorflow as tf


def rows():
    rng = np.random.default_rng(0)
    for i in range(6000):
        text = ",".join(str(v) for v in rng.random(12))
        values = [float(v) for v in text.split(",")]
        yield np.array(values, "float32"), np.float32(values[0] > 0.5)


dataset = tf.data.Dataset.from_generator(rows, output_signature=(tf.TensorSpec([12], tf.float32), tf.TensorSpec([], tf.float32))).batch(32)
w = tf.Variable(tf.zeros([12, 1]))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.squeeze(tf.matmul(x, w), 1) - y) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


for epoch in range(2):
    for x, y in dataset:
        loss = train_step(x, y)
print(float(loss))
