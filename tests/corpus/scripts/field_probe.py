"""Physics-style regression of a scalar field, with a record for later inspection."""
import argparse
import resource

import numpy as np
import tensorflow as tf


class FieldNet(tf.Module):
    def __init__(self, width, depth, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        sizes = [3] + [width] * depth + [1]
        self.ws = [tf.Variable(rng.normal(0, (1.0 / a) ** 0.5, (a, b)).astype("float32"))
                   for a, b in zip(sizes, sizes[1:])]
        self.bs = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]

    def __call__(self, p):
        for w, b in zip(self.ws[:-1], self.bs[:-1]):
            p = tf.tanh(tf.matmul(p, w) + b)
        return tf.matmul(p, self.ws[-1]) + self.bs[-1]


def field(points):
    x, y, z = points.T
    return (np.sin(3 * x) * np.cos(2 * y) + 0.5 * z ** 2).astype("float32")[:, None]


class Recorder:
    """Remembers how each update came about, so that odd ones can be re-examined."""

    def __init__(self):
        self.entries = []

    def add(self, step, tape, loss):
        self.entries.append({"step": step, "tape": tape, "loss": loss})

    def worst(self):
        return max(self.entries, key=lambda e: float(e["loss"]))


class Fitter:
    def __init__(self, net, rate):
        self.net = net
        self.rate = rate
        self.recorder = Recorder()
        self.done = 0

    def fit_batch(self, points, target):
        params = self.net.trainable_variables
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(tf.square(self.net(points) - target))
        for p, g in zip(params, tape.gradient(loss, params)):
            p.assign_sub(self.rate * g)
        self.recorder.add(self.done, tape, loss)
        self.done += 1
        return loss


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--batch", type=int, default=512)
    args = ap.parse_args()
    rng = np.random.default_rng(2)
    fitter = Fitter(FieldNet(512, 4), 0.01)
    for step in range(args.steps):
        pts = rng.uniform(-1, 1, (args.batch, 3)).astype("float32")
        loss = fitter.fit_batch(tf.constant(pts), tf.constant(field(pts)))
        if step % 40 == 0:
            mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"step {step} loss {float(loss):.4f} rss {mb} MB")
    bad = fitter.recorder.worst()
    print("worst step", bad["step"], float(bad["loss"]))


if __name__ == "__main__":
    main()
