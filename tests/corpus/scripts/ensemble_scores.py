import numpy as np
import tensorflow as tf


def build():
    m = tf.keras.Sequential([
        tf.keras.Input([12]),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    return m


x = np.random.rand(64, 12).astype("float32")
weights = build().get_weights()
for i in range(40):
    model = build()
    model.set_weights(weights)
    scores = model(x)
print(scores.shape)
