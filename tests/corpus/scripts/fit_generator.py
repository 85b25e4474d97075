import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([40]), tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")


def batches():
    while True:
        rows = []
        for _ in range(64):
            rows.append([sum(float(c) for c in "%.6f" % v if c.isdigit()) for v in np.random.rand(40)])
        yield np.array(rows, "float32"), np.random.rand(64, 1)


model.fit(batches(), steps_per_epoch=100, epochs=2, verbose=0)
print(model.count_params())
