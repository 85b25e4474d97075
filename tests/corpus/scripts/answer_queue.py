"""Requests come from clients now and then; the worker answers what has come by then in one batch."""

import queue
import threading
import time
import numpy as np
import tensorflow as tf

net = tf.keras.Sequential(
    [tf.keras.Input((64,)), tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(10)]
)
serve = tf.function(net, input_signature=[tf.TensorSpec([None, 64], tf.float32)])
serve(tf.zeros([1, 64]))
inbox = queue.Queue()


def client(seed):
    rng = np.random.RandomState(seed)
    for _ in range(70):
        time.sleep(rng.exponential(0.08))
        inbox.put(rng.rand(64).astype("float32"))
    inbox.put(None)


clients = [threading.Thread(target=client, args=(s,), daemon=True) for s in range(3)]
for c in clients:
    c.start()
open_clients, answered = 3, 0
while open_clients:
    batch = [inbox.get()]
    while not inbox.empty():
        batch.append(inbox.get())
    open_clients -= sum(b is None for b in batch)
    rows = [b for b in batch if b is not None]
    if rows:
        serve(tf.constant(np.stack(rows))).numpy()
        answered += len(rows)
print("answered", answered)
