import threading

import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))


def work():
    for i in range(25):
        train(tf.random.normal([4, 8]))


t = threading.Thread(target=work)
t.start()
t.join()
# expect: 25 | for i in range(25)
