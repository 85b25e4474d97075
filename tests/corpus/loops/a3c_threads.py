import threading

import numpy as np
import tensorflow as tf

shared = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.01)
opt.build(shared.trainable_variables)
lock = threading.Lock()


class Worker(threading.Thread):
    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def run(self):
        for step in range(15):
            s = tf.constant(self.rng.random((5, 4), "float32"))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.log_softmax(shared(s)) ** 2)
            grads = tape.gradient(loss, shared.trainable_variables)
            with lock:
                opt.apply_gradients(zip(grads, shared.trainable_variables))


workers = [Worker(n) for n in range(2)]
[w.start() for w in workers]
[w.join() for w in workers]
# expect: 30 | for step in range(15)
