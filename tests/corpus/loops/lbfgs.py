import numpy as np
import tensorflow as tf

A = tf.constant(np.random.rand(30, 6), tf.float64)
b = tf.constant(np.random.rand(30), tf.float64)


@tf.function
def value_and_grad(w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        f = tf.reduce_sum((tf.linalg.matvec(A, w) - b) ** 2)
    return f, tape.gradient(f, w)


def line_search(w, d, f, g):
    step = 1.0
    while True:
        f2, g2 = value_and_grad(w + step * d)
        if float(f2) <= float(f) + 1e-4 * step * float(tf.tensordot(g, d, 1)) or step < 1e-8:
            return w + step * d, f2, g2
        step *= 0.5


w = tf.zeros([6], tf.float64)
f, g = value_and_grad(w)
for iteration in range(18):
    w, f, g = line_search(w, -g, f, g)
# expect: 18 | for iteration in range(18)
