"""Overdamped Langevin dynamics in a double-well potential, with reproducible noise."""
import os
import time

import psutil
import tensorflow as tf


class DoubleWell:
    def __init__(self, barrier=2.0, width=1.0):
        self.barrier = barrier
        self.width = width

    def energy(self, q):
        return self.barrier * tf.square(tf.square(q / self.width) - 1.0)

    def force(self, q):
        return -4.0 * self.barrier * q / self.width ** 2 * (tf.square(q / self.width) - 1.0)


class Langevin:
    def __init__(self, potential, n_particles, dt, temperature):
        self.potential = potential
        self.shape = (n_particles, 2)
        self.dt = dt
        self.amp = (2.0 * temperature * dt) ** 0.5

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32),
                                  tf.TensorSpec([None, 2], tf.float32)])
    def advance(self, q, noise):
        q = q + self.dt * self.potential.force(q) + self.amp * noise
        return q

    def step(self, q):
        noise = tf.random.normal(self.shape)
        return self.advance(q, noise)


class Monitor:
    """Prints a line every now and then, keeps only scalars."""

    def __init__(self, every):
        self.every = every
        self.proc = psutil.Process(os.getpid())
        self.rows = []
        self.t0 = time.time()

    def __call__(self, k, q, potential):
        if k % self.every:
            return
        right = float(tf.reduce_mean(tf.cast(q[:, 0] > 0, tf.float32)))
        energy = float(tf.reduce_mean(potential.energy(q)))
        rss = self.proc.memory_info().rss / 1e6
        self.rows.append((k, right, energy))
        print(f"{k:7d}  right {right:.3f}  E {energy:.3f}  rss {rss:7.0f} MB  "
              f"{time.time() - self.t0:5.1f} s", flush=True)


def main(n_steps=4200, n_particles=200, seed=2024):
    tf.random.set_seed(seed)
    potential = DoubleWell()
    integrator = Langevin(potential, n_particles, dt=0.005, temperature=0.6)
    q = -tf.ones(integrator.shape)
    monitor = Monitor(every=n_steps // 12)
    for k in range(n_steps):
        q = integrator.step(q)
        monitor(k, q, potential)
    crossings = [b[1] - a[1] for a, b in zip(monitor.rows, monitor.rows[1:])]
    print("net drift to the right well:", round(sum(crossings), 3))


if __name__ == "__main__":
    main()
