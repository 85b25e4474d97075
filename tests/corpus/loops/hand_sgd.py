import numpy as np
import tensorflow as tf

ws = [tf.Variable(np.random.randn(6, 6).astype("float32")) for _ in range(4)]
x = tf.random.normal([16, 6])
lr = tf.Variable(0.1)
for n in range(25):
    with tf.GradientTape() as t:
        h = x
        for w in ws:
            h = tf.tanh(h @ w)
        loss = tf.reduce_sum(h**2)
    for w, g in zip(ws, t.gradient(loss, ws)):
        w.assign_sub(lr * g)
    lr.assign(lr * 0.99)
# expect: 25 | for n in range(25)
