import numpy as np
import tensorflow as tf

rng = np.random.default_rng(3)
grid = rng.random((4000, 2)) * 2 - 1
height = np.sin(4 * grid[:, :1]) * grid[:, 1:]
sizes = [2, 256, 256, 1]
layers = [(tf.Variable(rng.normal(size=(a, b)) * a**-0.5), tf.Variable(np.zeros(b))) for a, b in zip(sizes, sizes[1:])]


@tf.function
def descend(points, target):
    with tf.GradientTape() as tape:
        h = points
        for w, b in layers:
            h = tf.tanh(h @ w + b)
        loss = tf.reduce_mean((h - target) ** 2)
    flat = tf.nest.flatten(layers)
    for v, g in zip(flat, tape.gradient(loss, flat)):
        v.assign_sub(0.05 * g)
    return loss


for step in range(350):
    pick = rng.integers(0, len(grid), 512)
    descend(grid[pick], height[pick])
