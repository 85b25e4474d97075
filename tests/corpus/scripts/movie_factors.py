import csv
import os
import tempfile

import numpy as np
import tensorflow as tf

USERS, MOVIES, DIM = 6000, 2500, 48


def ratings(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(USERS, 6)), rng.normal(size=(MOVIES, 6))
    u, m = rng.integers(0, USERS, n), rng.integers(0, MOVIES, n)
    r = 3.0 + 0.4 * (a[u] * b[m]).sum(1) + rng.normal(scale=0.3, size=n)
    return u.astype(np.int32), m.astype(np.int32), np.clip(r, 0.5, 5).astype(np.float32)


class Factors(tf.Module):
    def __init__(self, seed):
        super().__init__()
        g = tf.random.Generator.from_seed(seed)
        self.users = tf.Variable(0.1 * g.normal((USERS, DIM)))
        self.movies = tf.Variable(0.1 * g.normal((MOVIES, DIM)))
        self.user_bias = tf.Variable(tf.zeros(USERS))
        self.movie_bias = tf.Variable(tf.zeros(MOVIES))
        self.mean = tf.Variable(3.0)

    def __call__(self, u, m):
        dot = tf.reduce_sum(tf.gather(self.users, u) * tf.gather(self.movies, m), axis=1)
        return dot + tf.gather(self.user_bias, u) + tf.gather(self.movie_bias, m) + self.mean


def train(folder, steps=700, report=50):
    u, m, r = ratings(400_000, seed=66)
    data = tf.data.Dataset.from_tensor_slices((u, m, r)).batch(8192, drop_remainder=True)
    data = data.cache().shuffle(16, seed=3).repeat().prefetch(tf.data.AUTOTUNE)
    model = Factors(66)
    rate = tf.constant(90.0)

    @tf.function
    def step(u, m, r):
        with tf.GradientTape() as tape:
            error = model(u, m) - r
            loss = tf.reduce_mean(tf.square(error))
        variables = model.trainable_variables
        for var, grad in zip(variables, tape.gradient(loss, variables)):
            if isinstance(grad, tf.IndexedSlices):
                var.scatter_sub(tf.IndexedSlices(rate * grad.values, grad.indices))
            else:
                var.assign_sub(0.05 * grad)
        return loss

    with open(os.path.join(folder, "rmse.csv"), "w", newline="") as file:
        log = csv.writer(file)
        for n, (u, m, r) in enumerate(data.take(steps), start=1):
            loss = step(u, m, r)
            if n % report == 0:
                rmse = float(tf.sqrt(loss))
                log.writerow([n, rmse])
                print(f"step {n}: rmse {rmse:.4f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        train(folder)
