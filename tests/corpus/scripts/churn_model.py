import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
table = rng.randn(1600, 24).astype("float32")
left = (table[:, :2].sum(1) > 0).astype("float32")

inputs = tf.keras.Input((24,))
h = inputs
for units in (48, 32, 16):
    h = tf.keras.layers.Dense(units)(h)
    h = tf.keras.layers.BatchNormalization()(h)
    h = tf.keras.layers.Activation("relu")(h)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(h))
model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True), run_eagerly=True)
model.fit(table, left, batch_size=32, epochs=3, verbose=0)
print(model.evaluate(table, left, verbose=0))
