import numpy as np
import tensorflow as tf

x = np.random.rand(2000, 64).astype("float32")
y = np.random.randint(0, 10, 2000)
model = tf.keras.Sequential([tf.keras.Input([64]), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x, y, validation_split=0.2, epochs=8, batch_size=48, verbose=2)
print(model.evaluate(x, y, verbose=0))
