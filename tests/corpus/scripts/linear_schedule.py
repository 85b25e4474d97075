import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(512, 16)), tf.float32)
y = tf.constant(rng.normal(size=(512, 1)), tf.float32)
w = tf.Variable(tf.zeros([16, 1]))
b = tf.Variable(tf.zeros([1]))


@tf.function
def train_step(x, y, lr):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(lr * dw)
    b.assign_sub(lr * db)
    return loss


lr = 0.1
for step in range(60):
    xb, yb = x[:64], y[:64]
    loss = train_step(xb, yb, lr)
    lr = lr * 0.98
print("loss", loss.numpy())
