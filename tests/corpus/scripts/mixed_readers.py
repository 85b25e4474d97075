import numpy as np
import tensorflow as tf

kinds = ["uint8", "int16", "int32", "int64", "float16", "float32", "float64", "uint16", "int8", "uint32"]


class Normaliser:
    def __init__(self):
        self.mean = tf.Variable(0.5)


norm = Normaliser()


@tf.function
def normalise(image):
    image = tf.cast(image, tf.float32)
    for _ in range(20):
        image = tf.nn.relu(image - norm.mean) + tf.sqrt(tf.abs(image) + 1.0)
    return tf.reduce_mean(image)


images = [np.ones((32, 32), dtype=kinds[i % len(kinds)]) for i in range(10)]
results = []
for image in images:
    results.append(normalise(image))
print(len(results))
