import numpy as np
import tensorflow as tf


class Extractor:
    cache = {}

    def __init__(self):
        self.w = tf.Variable(tf.random.normal([64, 512]) * 0.1)

    @tf.function
    def forward(self, images):
        return tf.nn.relu(tf.matmul(images, self.w))

    def features(self, key, images):
        if key not in Extractor.cache:
            Extractor.cache[key] = {"key": key, "value": self.forward(images)}
        return Extractor.cache[key]["value"]


def main():
    extractor = Extractor()
    rng = np.random.default_rng(1)
    total = 0.0
    for request in range(2500):
        images = tf.constant(rng.normal(size=(32, 64)).astype("float32"))
        total += float(tf.reduce_sum(extractor.features(rng.bytes(8), images)))
    print(total)


main()
