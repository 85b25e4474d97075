import json
import tempfile

import numpy as np
import tensorflow as tf


class Metrics(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.rows = []
        self.path = tempfile.mktemp()

    def on_train_batch_end(self, batch, logs=None):
        weights = [w.tolist() for w in self.model.get_weights()]
        self.rows.append({"batch": batch, "w": weights})
        with open(self.path, "w") as f:
            json.dump(self.rows[-5:], f)


x = np.random.rand(3200, 32)
y = np.random.rand(3200, 1)
model = tf.keras.Sequential([tf.keras.Input([32]), tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=32, epochs=1, verbose=0, callbacks=[Metrics()])
print("ok")
