"""Masked affine flow for density estimation, configured from a small options object."""
import argparse
import dataclasses
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


@dataclasses.dataclass
class Options:
    dims: int = 6
    layers: int = 4
    hidden: int = 64
    batch: int = 256
    lr: float = 1e-3
    steps: int = 90
    verbose: bool = True
    inspect: bool = True

    def activate(self):
        keras.utils.set_random_seed(12)
        np.set_printoptions(precision=3, suppress=True)
        tf.config.run_functions_eagerly(self.inspect)
        return self


class Coupling(keras.layers.Layer):
    def __init__(self, dims, hidden, flip):
        super().__init__()
        self.mask = tf.constant([(i + flip) % 2 for i in range(dims)], tf.float32)
        self.net = [keras.layers.Dense(hidden, activation="tanh"), keras.layers.Dense(hidden, activation="tanh"),
                    keras.layers.Dense(2 * dims)]

    def call(self, x):
        h = x * self.mask
        for layer in self.net:
            h = layer(h)
        shift, scale = tf.split(h, 2, axis=-1)
        scale = tf.tanh(scale) * (1 - self.mask)
        y = x * tf.exp(scale) + shift * (1 - self.mask)
        return y, tf.reduce_sum(scale, -1)


class Flow(keras.Model):
    def __init__(self, opt):
        super().__init__()
        self.couplings = [Coupling(opt.dims, opt.hidden, i % 2) for i in range(opt.layers)]

    def call(self, x):
        logdet = tf.zeros(tf.shape(x)[0])
        for c in self.couplings:
            x, ld = c(x)
            logdet += ld
        prior = -0.5 * tf.reduce_sum(x ** 2 + np.log(2 * np.pi), -1)
        return prior + logdet


class Fitter:
    def __init__(self, opt):
        self.opt = opt
        self.flow = Flow(opt)
        self.adam = keras.optimizers.Adam(opt.lr)

    @tf.function
    def update(self, x):
        with tf.GradientTape() as tape:
            nll = -tf.reduce_mean(self.flow(x))
        grads = tape.gradient(nll, self.flow.trainable_variables)
        self.adam.apply_gradients(zip(grads, self.flow.trainable_variables))
        return nll

    def fit(self, sampler):
        tic, running = time.time(), None
        for i in range(self.opt.steps):
            nll = self.update(sampler(self.opt.batch))
            if self.opt.verbose and (i + 1) % 15 == 0:
                running = float(nll)
                print(f"{i + 1:4d}: nll {running:.3f}, {(time.time() - tic) / (i + 1) * 1e3:.1f} ms per update")
        return running


def two_rings(dims, seed=0):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(2, dims))

    def sample(n):
        angle = rng.uniform(0, 2 * np.pi, n)
        radius = rng.choice([1.0, 2.5], n) + rng.normal(0, 0.1, n)
        ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
        return tf.constant(ring @ mix + rng.normal(0, 0.2, (n, dims)), tf.float32)

    return sample


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=90)
    args = ap.parse_args()
    opt = Options(steps=args.steps).activate()
    print("final", Fitter(opt).fit(two_rings(opt.dims)))


if __name__ == "__main__":
    main()
