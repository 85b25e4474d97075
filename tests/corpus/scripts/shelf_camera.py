import numpy as np
import tensorflow as tf

from parts.overlap import best_boxes

inputs = x = tf.keras.Input((64, 64, 1))
for filters in (8, 12):
    x = tf.keras.layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
outputs = tf.keras.layers.Conv2D(5, 1, activation="sigmoid")(x)
model = tf.keras.Model(inputs, outputs)


@tf.function
def detect(image):
    return model(image, training=False)


rng = np.random.default_rng(0)
corners = np.stack(np.meshgrid(np.arange(16), np.arange(16)), -1).reshape(-1, 2) * 4.0
shelves = []
for picture in range(300):
    image = rng.random((1, 64, 64, 1), dtype=np.float32)
    found = detect(tf.constant(image)).numpy().reshape(-1, 5)
    boxes = np.concatenate([corners - 5 * found[:, :2], corners + 5 * found[:, 2:4]], 1).tolist()
    shelves.append(len(best_boxes(boxes, found[:, 4].tolist(), 0.5)))
print(np.mean(shelves))
