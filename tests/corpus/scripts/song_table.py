import numpy as np
import tensorflow as tf

SONGS, SIZE = 120_000, 24
table = tf.Variable(tf.random.uniform([SONGS, SIZE], -0.05, 0.05))
side = [tf.Variable(tf.random.normal([SIZE, 384], stddev=0.1)), tf.Variable(tf.random.normal([384, SIZE], stddev=0.1))]


@tf.function
def fit(played, following):
    with tf.GradientTape() as tape:
        context = tf.reduce_mean(tf.gather(table, played), 1)
        guess = tf.nn.relu(context @ side[0]) @ side[1]
        loss = tf.reduce_mean((guess - tf.gather(table, following)) ** 2)
    rows, *dense = tape.gradient(loss, [table, *side])
    table.scatter_sub(tf.IndexedSlices(0.1 * rows.values, rows.indices))
    for w, g in zip(side, dense):
        w.assign_sub(0.1 * g)
    return loss


rng = np.random.default_rng(0)
for step in range(500):
    fit(tf.constant(rng.integers(0, SONGS, (1024, 30))), tf.constant(rng.integers(0, SONGS, 1024)))
