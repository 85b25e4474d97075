import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

rng = np.random.default_rng(8)
x = rng.normal(size=(6000, 64)).astype("float32")
y = rng.integers(0, 8, 6000)
model = tf.keras.Sequential([layers.Input((64,)), layers.Dense(512, activation="relu"), layers.Dense(512, activation="relu"), layers.Dense(8)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x[:5000], y[:5000], batch_size=64, epochs=10, validation_data=(x[5000:], y[5000:]), verbose=0)
