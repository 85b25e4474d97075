import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([10]), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
for day in range(8):
    x = np.random.rand(96, 10)
    y = np.random.rand(96, 1)
    model.compile(optimizer="adam", loss="mse")
    model.fit(x, y, batch_size=32, epochs=1, verbose=0)
print(model.count_params())
