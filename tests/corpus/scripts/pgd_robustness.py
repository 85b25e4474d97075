"""Robust accuracy of a small image classifier under a PGD attack."""
import argparse
import sys
import time

import keras
import numpy as np
import tensorflow as tf


def toy_images(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, n)
    images = rng.uniform(0, 0.4, size=(n, 28, 28, 1)).astype(np.float32)
    for i, c in enumerate(labels):
        images[i, 2 * c: 2 * c + 5, 4:24] += 0.5
    return np.clip(images, 0, 1), labels.astype(np.int64)


def build_classifier():
    layers = [keras.Input((28, 28, 1))]
    for filters in (8, 16):
        layers += [keras.layers.Conv2D(filters, 3, padding="same"),
                   keras.layers.LayerNormalization(),
                   keras.layers.Activation("gelu")]
        if filters == 8:
            layers.append(keras.layers.MaxPooling2D(2))
    layers += [keras.layers.Flatten(), keras.layers.Dense(10)]
    return keras.Sequential(layers)


class ProjectedGradient:
    """L-inf PGD with random start."""

    def __init__(self, model, eps=0.1, alpha=0.02, iterations=4):
        self.model = model
        self.eps = eps
        self.alpha = alpha
        self.iterations = iterations
        self.criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self._advance = tf.function(self._gradient_move)

    def _gradient_move(self, adv, clean, labels):
        with tf.GradientTape() as tape:
            tape.watch(adv)
            loss = self.criterion(labels, self.model(adv, training=False))
        moved = adv + self.alpha * tf.sign(tape.gradient(loss, adv))
        moved = tf.clip_by_value(moved, clean - self.eps, clean + self.eps)
        return tf.clip_by_value(moved, 0.0, 1.0)

    def generate(self, images, labels):
        adv = images + tf.random.uniform(tf.shape(images), -self.eps, self.eps)
        for _ in range(self.iterations):
            adv = self._advance(adv, images, labels)
        return adv


def perturb(model, images, labels, settings):
    attack = ProjectedGradient(model, eps=settings.eps, iterations=settings.iterations)
    return attack.generate(images, labels)


def robust_accuracy(model, dataset, settings):
    classify = tf.function(lambda x: tf.argmax(model(x, training=False), -1))
    good = bad = 0
    begun = time.time()
    for n, (images, labels) in enumerate(dataset, 1):
        adv = perturb(model, images, labels, settings)
        right = int(tf.reduce_sum(tf.cast(classify(adv) == labels, tf.int32)))
        good += right
        bad += int(labels.shape[0]) - right
        if n % 5 == 0:
            print(f"  batch {n}: {good / (good + bad):.3f} ({time.time() - begun:.1f}s)", flush=True)
    return good / (good + bad)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--batches", type=int, default=26)
    settings = parser.parse_args(argv)
    x, y = toy_images(16 * settings.batches, 3)
    model = build_classifier()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    model.fit(x[:512], y[:512], batch_size=64, epochs=1, verbose=0)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True)
    print("robust accuracy", robust_accuracy(model, data, settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
