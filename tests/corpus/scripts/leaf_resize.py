"""Leaf disease classifier trained at growing resolution."""
import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

STAGES = [(24, 2), (32, 2), (48, 2)]
CLASSES = 4


def leaves(n, size, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size] / size
    y = rng.integers(0, CLASSES, n)
    freq = (3 + 3 * y)[:, None, None]
    tilt = rng.uniform(0, np.pi, (n, 1, 1))
    wave = np.sin(2 * np.pi * freq * (xx * np.cos(tilt) + yy * np.sin(tilt)))
    img = np.stack([wave, 0.5 * wave, -wave], -1) + rng.normal(0, 0.5, (n, size, size, 3))
    return img.astype("float32"), y.astype("int32")


def classifier():
    inp = keras.Input((None, None, 3))
    x = inp
    for f in (16, 32, 48):
        x = keras.layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.ReLU()(x)
        x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(inp, keras.layers.Dense(CLASSES)(x))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = keras.optimizers.Adam(1e-3)
        self.loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.loss = keras.metrics.Mean()
        self.acc = keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            loss = self.loss_fn(y, logits)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        self.loss.update_state(loss)
        self.acc.update_state(y, logits)

    def epoch(self, ds):
        self.loss.reset_state()
        self.acc.reset_state()
        for x, y in ds:
            self.train_step(x, y)
        return float(self.loss.result()), float(self.acc.result())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--images", type=int, default=2560)
    ap.add_argument("--batch", type=int, default=64)
    args = ap.parse_args()
    keras.utils.set_random_seed(14)
    trainer = Trainer(classifier())
    for size, epochs in STAGES:
        x, y = leaves(args.images, size, seed=size)
        ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=2)
        ds = ds.batch(args.batch, drop_remainder=True).prefetch(2)
        for e in range(epochs):
            t = time.time()
            loss, acc = trainer.epoch(ds)
            print(f"{size}px epoch {e} loss {loss:.3f} acc {acc:.3f} {time.time() - t:.1f}s")


if __name__ == "__main__":
    main()
