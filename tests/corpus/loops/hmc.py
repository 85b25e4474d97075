import numpy as np
import tensorflow as tf

x_obs = tf.constant(np.random.randn(30).astype("float32") + 2)


def log_prob(q):
    return -0.5 * tf.reduce_sum((x_obs - q[0]) ** 2) * tf.exp(-q[1]) - 15 * q[1]


def grad_log_prob(q):
    with tf.GradientTape() as tape:
        tape.watch(q)
        lp = log_prob(q)
    return tape.gradient(lp, q)


def leapfrog(q, p, eps, L):
    p = p + 0.5 * eps * grad_log_prob(q)
    for l in range(L):
        q = q + eps * p
        if l != L - 1:
            p = p + eps * grad_log_prob(q)
    return q, p + 0.5 * eps * grad_log_prob(q)


chain, q, accepted = [], tf.constant([0.0, 0.0]), 0
for i in range(25):
    p0 = tf.random.normal([2])
    q1, p1 = leapfrog(q, p0, 0.02, 6)
    log_ratio = log_prob(q1) - log_prob(q) - 0.5 * tf.reduce_sum(p1**2) + 0.5 * tf.reduce_sum(p0**2)
    if np.log(np.random.rand()) < log_ratio.numpy():
        q, accepted = q1, accepted + 1
    chain.append(q.numpy())
# expect: 25 | for i in range(25)
