"""Open-loop calibration of piecewise-constant pulses for a transmon pair.

A CMA-like search proposes pulse shapes; each proposal is propagated and scored.
"""
import time

import numpy as np
import tensorflow as tf

DT = 0.35
SLICES = 160
DIM = 4

SX = np.array([[0, 1], [1, 0]], np.complex64)
SY = np.array([[0, -1j], [1j, 0]], np.complex64)
SZ = np.diag([1, -1]).astype(np.complex64)
ID = np.eye(2, dtype=np.complex64)


def two_qubit_terms():
    drift = 0.05 * np.kron(SZ, SZ) + 0.02 * (np.kron(SX, SX) + np.kron(SY, SY))
    controls = [np.kron(SX, ID), np.kron(ID, SX)]
    return tf.constant(drift), tf.constant(np.stack(controls))


class Quantity:
    """A named physical quantity held on the TensorFlow side."""

    def __init__(self, name, value):
        self.name = name
        self.value = tf.Variable(value, dtype=tf.float32, name=name)

    def get_value(self):
        return self.value


class Propagator:
    def __init__(self, target):
        self.drift, self.controls = two_qubit_terms()
        self.target = tf.constant(target)

    @tf.function
    def infidelity(self, amps):
        field = tf.cast(tf.reshape(tf.stack(amps), [2, SLICES]), tf.complex64)
        h = self.drift[None] + tf.einsum('cs,cij->sij', field, self.controls)
        u = tf.linalg.expm(-1j * tf.cast(DT, tf.complex64) * h)
        while u.shape[0] > 1:
            half = u.shape[0] // 2
            if u.shape[0] % 2:
                u = tf.concat([tf.matmul(u[1:2 * half:2], u[0:2 * half:2]), u[-1:]], 0)
            else:
                u = tf.matmul(u[1::2], u[0::2])
        overlap = tf.linalg.trace(tf.matmul(self.target, u[0], adjoint_a=True)) / DIM
        return 1.0 - tf.square(tf.abs(overlap))


class Experiment:
    def __init__(self, propagator):
        self.propagator = propagator
        self.evaluations = 0

    def evaluate(self, amplitudes):
        params = []
        for line in range(2):
            for k in range(SLICES):
                params.append(Quantity('d%d_%d' % (line, k), amplitudes[line, k]))
        self.evaluations += 1
        return float(self.propagator.infidelity([q.get_value() for q in params]))


class EvolutionSearch:
    def __init__(self, rng, sigma=0.05, population=8):
        self.rng, self.sigma, self.population = rng, sigma, population
        self.mean = rng.normal(0, 0.2, (2, SLICES)).astype(np.float32)

    def ask(self):
        noise = self.rng.normal(size=(self.population, 2, SLICES)).astype(np.float32)
        return self.mean + self.sigma * noise

    def tell(self, proposals, scores):
        order = np.argsort(scores)[:self.population // 2]
        self.mean = proposals[order].mean(axis=0)
        self.sigma *= 0.99


def main(generations=10):
    target = np.kron(SX, ID)
    experiment = Experiment(Propagator(target))
    search = EvolutionSearch(np.random.default_rng(12))
    t0 = time.time()
    for gen in range(generations):
        proposals = search.ask()
        scores = np.array([experiment.evaluate(a) for a in proposals])
        search.tell(proposals, scores)
        if gen % 3 == 0:
            print('gen %3d best %.5f  (%d evaluations, %.1fs)'
                  % (gen, scores.min(), experiment.evaluations, time.time() - t0))
    print('final infidelity %.5f' % experiment.evaluate(search.mean))


if __name__ == '__main__':
    main()
