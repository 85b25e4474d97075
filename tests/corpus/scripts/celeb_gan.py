"""Small GAN on blob images with a deferred training journal."""
import argparse
import time

import keras
import numpy as np
import psutil
import tensorflow as tf


def blob_images(n, size, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size].astype(np.float32)
    cx, cy, r = (rng.uniform(8, size - 8, n), rng.uniform(8, size - 8, n), rng.uniform(2, 6, n))
    d = (xx[None] - cx[:, None, None]) ** 2 + (yy[None] - cy[:, None, None]) ** 2
    return (np.exp(-d / (2 * r[:, None, None] ** 2)) * 2 - 1).astype(np.float32)[..., None]


def generator(latent, size):
    return keras.Sequential([
        keras.Input((latent,)),
        keras.layers.Dense((size // 4) ** 2 * 12, activation="relu"),
        keras.layers.Reshape((size // 4, size // 4, 12)),
        keras.layers.Conv2DTranspose(6, 4, strides=2, padding="same", activation="relu"),
        keras.layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
    ])


def discriminator(size):
    return keras.Sequential([
        keras.Input((size, size, 1)),
        keras.layers.Conv2D(6, 4, strides=2, padding="same", activation="leaky_relu"),
        keras.layers.Conv2D(12, 4, strides=2, padding="same", activation="leaky_relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ])


class Journal:
    """Entries are evaluated when the journal is printed, not while training."""

    def __init__(self):
        self.entries = []

    def note(self, label, fn):
        self.entries.append((label, fn))

    def tail(self, n):
        return [(label, float(fn())) for label, fn in self.entries[-n:]]


class GAN:
    def __init__(self, size, latent):
        self.latent = latent
        self.gen, self.disc = generator(latent, size), discriminator(size)
        self.g_opt, self.d_opt = keras.optimizers.Adam(2e-4, 0.5), keras.optimizers.Adam(2e-4, 0.5)
        self.g_opt.build(self.gen.trainable_variables)
        self.d_opt.build(self.disc.trainable_variables)
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def step(self, real):
        z = tf.random.normal((tf.shape(real)[0], self.latent))
        with tf.GradientTape(persistent=True) as tape:
            fake = self.gen(z, training=True)
            r, f = self.disc(real, training=True), self.disc(fake, training=True)
            d_loss = self.bce(tf.ones_like(r), r) + self.bce(tf.zeros_like(f), f)
            g_loss = self.bce(tf.ones_like(f), f)
        gv, dv = self.gen.trainable_variables, self.disc.trainable_variables
        self.g_opt.apply_gradients(zip(tape.gradient(g_loss, gv), gv))
        self.d_opt.apply_gradients(zip(tape.gradient(d_loss, dv), dv))
        return d_loss, g_loss, fake


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=180)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--size", type=int, default=48)
    opt = ap.parse_args()
    images = blob_images(2048, opt.size)
    ds = tf.data.Dataset.from_tensor_slices(images).shuffle(2048, seed=1).repeat().batch(opt.batch).prefetch(2)
    gan, journal, me = GAN(opt.size, 32), Journal(), psutil.Process()
    begun = time.time()
    for step, real in enumerate(ds.take(opt.steps), 1):
        d_loss, g_loss, fake = gan.step(real)
        journal.note(f"contrast@{step}", lambda fake=fake: tf.math.reduce_std(fake))
        if step % 40 == 0:
            print(f"{step}: d {float(d_loss):.3f} g {float(g_loss):.3f} {journal.tail(1)} "
                  f"rss {me.memory_info().rss / 1e6:.0f} MB {time.time() - begun:.1f}s", flush=True)


if __name__ == "__main__":
    main()
