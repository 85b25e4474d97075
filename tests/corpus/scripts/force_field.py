#!/usr/bin/env python3
"""Fit an energy model on random molecules, with TensorBoard output."""
import argparse
import shutil
import tempfile
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def molecules(n, atoms=8, seed=13):
    r = np.random.RandomState(seed)
    pos = r.normal(size=(n, atoms, 3)).astype("float32") * 2
    dist = np.linalg.norm(pos[:, :, None] - pos[:, None], axis=-1)
    iu = np.triu_indices(atoms, 1)
    d = dist[:, iu[0], iu[1]]
    feats = np.concatenate([1 / (d + 0.5), np.exp(-d)], 1).astype("float32")
    energy = (1 / (d + 0.5) ** 4 - np.exp(-d)).sum(1)
    return feats, ((energy - energy.mean()) / energy.std()).astype("float32")


def layer(x, n, name, act=tf.tanh):
    with tf.variable_scope(name):
        w = tf.get_variable("matrix", [int(x.shape[1]), n])
        b = tf.get_variable("bias", [n], initializer=tf.zeros_initializer())
        y = tf.matmul(x, w) + b
        return act(y) if act else y


class Trainer:
    def __init__(self, args, n_feat):
        self.args = args
        self.x = tf.placeholder(tf.float32, [None, n_feat])
        self.y = tf.placeholder(tf.float32, [None])
        h = layer(layer(self.x, args.width, "l0"), args.width, "l1")
        energy = layer(h, 1, "final", None)[:, 0]
        self.loss = tf.reduce_mean(tf.square(energy - self.y))
        opt = tf.train.AdamOptimizer(1e-3)
        grads = opt.compute_gradients(self.loss)
        self.train_op = opt.apply_gradients(grads)
        tf.summary.scalar("l2_loss", self.loss)
        for g, v in grads:
            tf.summary.histogram(v.op.name, v)
            tf.summary.histogram(v.op.name + "/grad", g)
        self.merged = tf.summary.merge_all()

    def run(self, feats, energy):
        logdir = tempfile.mkdtemp(prefix="ff_")
        rng = np.random.RandomState(0)
        with tf.Session() as sess:
            writer = tf.summary.FileWriter(logdir, sess.graph)
            sess.run(tf.global_variables_initializer())
            t = time.time()
            for step in range(self.args.steps):
                pick = rng.randint(0, len(feats), self.args.batch)
                feed = {self.x: feats[pick], self.y: energy[pick]}
                _, loss = sess.run([self.train_op, self.loss], feed)
                summary = sess.run(self.merged, feed)
                writer.add_summary(summary, step)
                if step % 100 == 0:
                    print(f"batch {step} loss {loss:.4f} training time {time.time() - t:.2f} s")
            writer.close()
        shutil.rmtree(logdir)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--width", type=int, default=512)
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--batch", type=int, default=32)
    tf.set_random_seed(2)
    feats, energy = molecules(4000)
    Trainer(ap.parse_args(), feats.shape[1]).run(feats, energy)
