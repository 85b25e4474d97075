import queue
import threading

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([8]), tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
q = queue.Queue(maxsize=4)
stop = threading.Event()


def feeder(seed):
    rng = np.random.default_rng(seed)
    while not stop.is_set():
        images = tf.image.random_flip_left_right(tf.constant(rng.random((6, 4, 2, 1), "float32")))
        batch = tf.reshape(images, [6, 8])
        try:
            q.put(batch, timeout=0.05)
        except queue.Full:
            continue


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss


threads = [threading.Thread(target=feeder, args=(n,), daemon=True) for n in range(2)]
for t in threads:
    t.start()
for it in range(50):
    loss = train(q.get())
stop.set()
for t in threads:
    t.join()
# expect: 50 | for it in range(50)
