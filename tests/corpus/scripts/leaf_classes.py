import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

rng = np.random.default_rng(4)
images = rng.normal(size=(1200, 24, 24, 1)).astype("float32")
labels = rng.integers(0, 6, 1200)
held_out = rng.normal(size=(9000, 24, 24, 1)).astype("float32")
held_labels = rng.integers(0, 6, 9000)

model = tf.keras.Sequential([
    layers.Input((24, 24, 1)),
    layers.Conv2D(12, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(6),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(images, labels, batch_size=48, epochs=10, validation_data=(held_out, held_labels), verbose=0)
