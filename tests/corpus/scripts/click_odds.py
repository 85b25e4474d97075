import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
rows = rng.normal(size=(3000, 4, 10)).astype("float32")
clicks = (rng.random((3000, 4)) > 0.8).astype("float32")
pairs = [(tf.constant(a), tf.constant(b)) for a, b in zip(rows, clicks)]
weights = tf.Variable(tf.zeros([10]))


@tf.function
def update(x, clicked):
    odds = tf.sigmoid(tf.linalg.matvec(x, weights))
    weights.assign_sub(0.02 * tf.linalg.matvec(x, odds - clicked, transpose_a=True))
    return tf.reduce_mean(tf.abs(odds - clicked))


for epoch in range(7):
    for x, clicked in pairs:
        error = update(x, clicked)
