import functools

import tensorflow as tf

A = tf.random.normal([5, 5]) * 0.1


@tf.function
def kalman(state, z):
    mean, cov = state
    cov = A @ cov @ tf.transpose(A) + tf.eye(5)
    gain = cov @ tf.linalg.inv(cov + tf.eye(5))
    mean = A @ mean + gain @ (z - A @ mean)
    return mean, cov - gain @ cov


measurements = list(tf.random.normal([38, 5, 1]))
mean, cov = functools.reduce(kalman, measurements, (tf.zeros([5, 1]), tf.eye(5)))
# expect: 38 | @tf.function
