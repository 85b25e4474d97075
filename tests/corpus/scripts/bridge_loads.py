import io
import random

import numpy as np
import tensorflow as tf


def readings(text):
    rows = []
    for line in io.StringIO(text):
        values = [part.strip().replace(",", ".") for part in line.split(";")]
        rows.append([float(v) for v in values if v])
    return rows


random.seed(1)
line = ";".join(f"{random.random():.4f}".replace(".", ",") for _ in range(30)) + "\n"
loads = []
for day in range(45):
    loads.append(np.asarray(readings(line * 22000), np.float32))
loads = np.concatenate(loads)
model = tf.keras.Sequential([tf.keras.layers.Input((30,)), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(loads[:20000], loads[:20000, :1], batch_size=100, epochs=4, verbose=0)
