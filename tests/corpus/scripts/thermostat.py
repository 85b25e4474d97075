import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
table = tf.Variable(tf.zeros([6, 3]))


@tf.function
def choose(state):
    return tf.argmax(tf.linalg.matvec(table, state, transpose_a=True))


@tf.function
def learn(state, action, reward):
    guess = tf.linalg.matvec(table, state, transpose_a=True)[action]
    table.scatter_nd_add([[0, action]], [0.1 * (reward - guess)])
    return reward - guess


state = np.zeros(6, "float32")
for step in range(6000):
    given = tf.constant(state)
    action = int(choose(given))
    state = (0.9 * state + 0.1 * rng.normal(size=6) + 0.05 * (action - 1)).astype("float32")
    float(learn(given, action if step < 0 else tf.constant(action), tf.constant(-float(np.abs(state).sum()))))
