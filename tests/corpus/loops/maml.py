import numpy as np
import tensorflow as tf

w1, b1, w2 = tf.Variable(tf.random.normal([1, 8])), tf.Variable(tf.zeros([8])), tf.Variable(tf.random.normal([8, 1]))
weights = [w1, b1, w2]
meta = tf.keras.optimizers.Adam(1e-3)


def net(x, ws):
    return tf.nn.tanh(x @ ws[0] + ws[1]) @ ws[2]


def task():
    a, phase = np.random.uniform(0.1, 5), np.random.uniform(0, np.pi)
    x = np.random.uniform(-5, 5, (10, 1)).astype("float32")
    return tf.constant(x), tf.constant((a * np.sin(x + phase)).astype("float32"))


for iteration in range(15):
    with tf.GradientTape() as outer:
        meta_loss = 0.0
        for t in range(4):
            x, y = task()
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean((net(x[:5], weights) - y[:5]) ** 2)
            fast = [w - 0.01 * g for w, g in zip(weights, inner.gradient(loss, weights))]
            meta_loss += tf.reduce_mean((net(x[5:], fast) - y[5:]) ** 2)
    meta.apply_gradients(zip(outer.gradient(meta_loss, weights), weights))
# expect: 15 | for iteration in range(15)
