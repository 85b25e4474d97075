"""Denoising auto-encoder for an expression matrix (TF1 graph code)."""
from __future__ import print_function

import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

N_CELLS = 12000
N_GENES = 1500
CODE = 16
BATCH = 64


def expression_matrix(seed=0):
    rng = np.random.RandomState(seed)
    programs = rng.gamma(2.0, 0.5, size=(10, N_GENES)).astype(np.float32)
    usage = rng.dirichlet(np.ones(10) * 0.3, size=N_CELLS).astype(np.float32)
    m = usage.dot(programs)
    m += 0.1 * rng.standard_normal(m.shape).astype(np.float32)
    return np.log1p(np.maximum(m, 0.0))


class DenoisingAE(object):
    def __init__(self, noise=0.2, lr=1e-3):
        self.data = tf.placeholder(tf.float32, [None, N_GENES], "data")
        self.rows = tf.placeholder(tf.int32, [None], "rows")
        batch = tf.gather(self.data, self.rows)
        mask = tf.cast(tf.random_uniform(tf.shape(batch)) > noise, tf.float32)
        h = self._layer("enc1", batch * mask, 64, tf.nn.relu)
        self.code = self._layer("code", h, CODE, None)
        h = self._layer("dec1", self.code, 64, tf.nn.relu)
        self.out = self._layer("dec2", h, N_GENES, None)
        self.loss = tf.reduce_mean(tf.square(self.out - batch))
        self.step = tf.train.GradientDescentOptimizer(lr * 50).minimize(self.loss)

    @staticmethod
    def _layer(name, x, n_out, act):
        with tf.variable_scope(name):
            w = tf.get_variable("w", [int(x.shape[1]), n_out])
            b = tf.get_variable("b", [n_out], initializer=tf.zeros_initializer())
        y = tf.nn.xw_plus_b(x, w, b)
        return act(y) if act is not None else y


def epochs(n_rows, n_epochs, steps, rng):
    for e in range(n_epochs):
        order = rng.permutation(n_rows)
        for s in range(steps):
            yield e, s, order[s * BATCH:(s + 1) * BATCH]


def main(argv):
    n_epochs = int(argv[1]) if len(argv) > 1 else 3
    matrix = expression_matrix()
    print("matrix", matrix.shape, matrix.dtype, "%.0f MB" % (matrix.nbytes / 1e6))
    model = DenoisingAE()
    rng = np.random.RandomState(1)
    steps = 36
    t0, losses = time.time(), []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for e, s, rows in epochs(N_CELLS, n_epochs, steps, rng):
            feed = {model.data: matrix, model.rows: rows}
            _, loss = sess.run([model.step, model.loss], feed_dict=feed)
            losses.append(float(loss))
            if s == steps - 1:
                print("epoch %d  loss %.5f  %.1f ms/step"
                      % (e, np.mean(losses[-steps:]), (time.time() - t0) / steps * 1e3))
                sys.stdout.flush()
                t0 = time.time()


if __name__ == "__main__":
    main(sys.argv)
