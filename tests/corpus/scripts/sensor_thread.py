import queue
import threading
import time

import numpy as np
import tensorflow as tf

ready = queue.Queue(maxsize=4)


def read():
    rng = np.random.RandomState(5)
    for _ in range(220):
        time.sleep(0.03)  # the device answers slowly
        ready.put(rng.randn(32, 16).astype("float32"))


threading.Thread(target=read, daemon=True).start()
w = tf.Variable(tf.random.normal([16, 4]))
out = tf.Variable(tf.random.normal([4, 16]))


@tf.function
def update(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(x @ w) @ out - x))
    for v, g in zip([w, out], tape.gradient(loss, [w, out]), strict=True):
        v.assign_sub(0.01 * g)
    return loss


for step in range(220):
    batch = ready.get()
    loss = update(tf.constant(batch))
print(float(loss))
