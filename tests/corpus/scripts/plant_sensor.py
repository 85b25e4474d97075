import numpy as np
import tensorflow as tf

rng = np.random.default_rng(6)
moisture = rng.normal(size=(12000, 6)).astype("float32")
growth = moisture.sum(1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Input((6,)), tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(moisture, growth, batch_size=4, epochs=2, verbose=0)
