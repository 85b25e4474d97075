import numpy as np
import tensorflow as tf

DTYPE = tf.float64  # positions in metres, over decades
rng = np.random.default_rng(3)
times = tf.constant(np.sort(rng.random(20000)) * 1e9, DTYPE)
seen = tf.constant(rng.normal(size=20000), DTYPE)
elements = tf.Variable(tf.ones([40], DTYPE))
orders = tf.range(1, 41, dtype=DTYPE)


@tf.function
def refine():
    with tf.GradientTape() as tape:
        phase = tf.tensordot(times, orders, 0) * 1e-9
        residual = tf.linalg.matvec(tf.cos(phase), elements) - seen
        loss = tf.reduce_mean(residual**2)
    elements.assign_sub(0.01 * tape.gradient(loss, elements))
    return loss


for step in range(250):
    loss = refine()
