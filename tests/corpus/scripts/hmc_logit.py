"""Bayesian logistic regression with a hand-rolled Hamiltonian Monte Carlo sampler."""
import argparse
import time

import numpy as np
import tensorflow as tf


def simulate(n=400, d=8, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)).astype(np.float32)
    beta = rng.normal(0, 1, d)
    y = (rng.random(n) < 1 / (1 + np.exp(-x @ beta))).astype(np.float32)
    return tf.constant(x), tf.constant(y), beta


class LogisticPosterior:
    def __init__(self, x, y, prior_scale=2.0):
        self.x, self.y = x, y
        self.precision = 1.0 / prior_scale ** 2

    def log_prob(self, beta):
        logits = tf.linalg.matvec(self.x, beta)
        lik = -tf.nn.sigmoid_cross_entropy_with_logits(labels=self.y, logits=logits)
        prior = -0.5 * self.precision * tf.reduce_sum(tf.square(beta))
        return tf.reduce_sum(lik) + prior

    def value_and_grad(self, beta):
        with tf.GradientTape() as tape:
            tape.watch(beta)
            lp = self.log_prob(beta)
        return lp, tape.gradient(lp, beta)


class HMC:
    def __init__(self, target, step_size, leapfrog_steps, seed):
        self.target = target
        self.eps = step_size
        self.n_leap = leapfrog_steps
        self.gen = tf.random.Generator.from_seed(seed)

    def transition(self, beta):
        p = self.gen.normal(tf.shape(beta))
        lp, grad = self.target.value_and_grad(beta)
        h0 = lp - 0.5 * tf.reduce_sum(tf.square(p))
        q = beta
        for _ in range(self.n_leap):
            p = p + 0.5 * self.eps * grad
            q = q + self.eps * p
            lp, grad = self.target.value_and_grad(q)
            p = p + 0.5 * self.eps * grad
        h1 = lp - 0.5 * tf.reduce_sum(tf.square(p))
        accept = tf.math.log(self.gen.uniform([])) < h1 - h0
        return tf.where(accept, q, beta), accept


def summarise(samples, truth):
    mean, sd = samples.mean(0), samples.std(0)
    for i, (m, s, b) in enumerate(zip(mean, sd, truth)):
        print(f"beta[{i}]  {m:6.2f} +- {s:.2f}   (true {b:5.2f})")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--draws", type=int, default=48)
    ap.add_argument("--warmup", type=int, default=12)
    ap.add_argument("--step-size", type=float, default=0.06)
    ap.add_argument("--leapfrog", type=int, default=20)
    a = ap.parse_args()
    x, y, truth = simulate()
    sampler = HMC(LogisticPosterior(x, y), a.step_size, a.leapfrog, seed=99)
    beta = tf.zeros(x.shape[1])
    kept = np.empty((a.draws, x.shape[1]), np.float32)
    accepted, t0 = 0, time.time()
    for i in range(-a.warmup, a.draws):
        beta, ok = sampler.transition(beta)
        if i >= 0:
            kept[i] = beta.numpy()
            accepted += int(ok)
        if i % 10 == 0:
            print(f"draw {i:4d}  {(time.time() - t0) / (i + a.warmup + 1) * 1e3:.1f} ms/draw", flush=True)
    print("acceptance", accepted / a.draws)
    summarise(kept, truth)


if __name__ == "__main__":
    main()
