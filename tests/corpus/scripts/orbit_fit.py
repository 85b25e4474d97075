"""Fits masses of bodies by differentiating through an N-body integration."""
import time
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass
class SimConfig:
    bodies: int = 5
    horizon: float = 2.0
    n_steps: int = 120
    soft: float = 0.05

    @property
    def dt(self):
        return self.horizon / self.n_steps


class NBody:
    def __init__(self, cfg):
        self.cfg = cfg

    def accel(self, pos, mass):
        d = pos[None] - pos[:, None]
        r2 = tf.reduce_sum(d * d, -1) + self.cfg.soft
        return tf.einsum("ij,ijk->ik", mass[None] * r2 ** -1.5, d)

    def rollout(self, pos, vel, mass):
        acc = self.accel(pos, mass)
        for _ in range(self.cfg.n_steps):
            vel = vel + 0.5 * self.cfg.dt * acc
            pos = pos + self.cfg.dt * vel
            acc = self.accel(pos, mass)
            vel = vel + 0.5 * self.cfg.dt * acc
        return pos, vel


class MassFitter:
    def __init__(self, sim, pos0, vel0, target):
        self.sim, self.pos0, self.vel0, self.target = sim, pos0, vel0, target
        self.log_mass = tf.Variable(tf.zeros([sim.cfg.bodies]))

    @tf.function
    def update(self, lr):
        with tf.GradientTape() as tape:
            pos, _ = self.sim.rollout(self.pos0, self.vel0, tf.exp(self.log_mass))
            loss = tf.reduce_mean(tf.square(pos - self.target))
        g = tape.gradient(loss, self.log_mass)
        self.log_mass.assign_sub(lr * tf.clip_by_norm(g, 1.0))
        return loss


def main():
    cfg = SimConfig()
    rng = np.random.RandomState(2)
    pos0 = tf.constant(rng.randn(cfg.bodies, 2), tf.float32)
    vel0 = tf.constant(rng.randn(cfg.bodies, 2) * 0.3, tf.float32)
    sim = NBody(cfg)
    target = pos0 + tf.constant(rng.randn(cfg.bodies, 2) * 0.2, tf.float32)
    fitter = MassFitter(sim, pos0, vel0, target)
    t0 = time.time()
    for it in range(12):
        loss = fitter.update(tf.constant(0.05))
        if it % 3 == 0:
            print("iter %d loss %.5f (%.2f s)" % (it, float(loss), time.time() - t0))
    print("masses", np.round(np.exp(fitter.log_mass.numpy()), 3))


if __name__ == "__main__":
    main()
