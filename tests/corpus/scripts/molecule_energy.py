"""Fit a pairwise interatomic potential; every conformer has its own atom count."""
import time

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
CENTRES = tf.constant(np.linspace(0.5, 6.0, 32), tf.float32)


class PairNet(tf.Module):
    def __init__(self, hidden=64):
        super().__init__()
        init = tf.random.stateless_normal
        self.w1 = tf.Variable(init([32, hidden], seed=[1, 1]) * 0.2)
        self.b1 = tf.Variable(tf.zeros([hidden]))
        self.w2 = tf.Variable(init([hidden, hidden], seed=[1, 2]) * 0.1)
        self.b2 = tf.Variable(tf.zeros([hidden]))
        self.w3 = tf.Variable(init([hidden, 1], seed=[1, 3]) * 0.1)

    @tf.function(jit_compile=True)
    def energy(self, xyz):
        delta = xyz[:, None, :] - xyz[None, :, :]
        dist = tf.sqrt(tf.reduce_sum(delta**2, -1) + 1e-6)
        basis = tf.exp(-4.0 * (dist[..., None] - CENTRES) ** 2)
        h = tf.nn.silu(tf.tensordot(basis, self.w1, 1) + self.b1)
        h = tf.nn.silu(tf.tensordot(h, self.w2, 1) + self.b2)
        pair = tf.tensordot(h, self.w3, 1)[..., 0]
        return tf.reduce_sum(pair * tf.exp(-dist))


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.opt = tf.keras.optimizers.Adam(lr)
        self.opt.build(list(net.trainable_variables))

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([], tf.float32)])
    def step(self, xyz, target):
        with tf.GradientTape() as tape:
            err = self.net.energy(xyz) - target
            loss = err * err
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss


def conformers(count, seed=5):
    rng = np.random.default_rng(seed)
    sizes = rng.permutation(np.arange(12, 12 + count))
    for n in sizes:
        xyz = rng.uniform(0, 8, size=(n, 3)).astype(np.float32)
        d = np.sqrt(((xyz[:, None] - xyz[None]) ** 2).sum(-1)) + np.eye(n)
        yield xyz, np.float32((np.exp(-d) / d).sum())


def main():
    trainer = Trainer(PairNet(), 1e-3)
    start = time.time()
    running = 0.0
    for i, (xyz, e) in enumerate(conformers(18)):
        loss = trainer.step(tf.constant(xyz), tf.constant(e))
        running += float(loss)
        if i % 6 == 5:
            print(f"{i + 1:4d} conformers, mean loss {running / 6:.3f}, {time.time() - start:.1f}s")
            running = 0.0


if __name__ == "__main__":
    main()
