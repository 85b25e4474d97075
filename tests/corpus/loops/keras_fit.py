import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([5]), tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
x, y = np.random.randn(160, 5), np.random.randn(160, 1)
model.fit(x, y, epochs=3, batch_size=8, verbose=0, validation_data=(x[:16], y[:16]))
# expect: 60 | model.fit(
