import numpy as np
import tensorflow as tf

gain = tf.Variable(tf.random.normal([256, 256]) * 0.05)


@tf.function
def fuse(readings):
    h = readings
    for _ in range(4):
        h = tf.tanh(tf.matmul(h, gain))
    return tf.unstack(tf.reduce_mean(h, axis=1))


rng = np.random.default_rng(0)
totals = np.zeros(400)
for t in range(300):
    estimates = fuse(tf.constant(rng.normal(size=(400, 256)).astype("float32")))
    for k, estimate in enumerate(estimates):
        totals[k] += estimate.numpy()
print(totals.sum())
