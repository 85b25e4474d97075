"""Random search over a regression net for spectra (TF1 style)."""
import random
import time

import numpy as np
import psutil
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

N_TRIALS = 16
N_BINS = 1500
STEPS = 30
BATCH = 128


def load_spectra(n=3000, seed=11):
    rng = np.random.RandomState(seed)
    grid = np.linspace(0.0, 1.0, N_BINS)
    centers = rng.uniform(0.2, 0.8, size=(n, 1))
    widths = rng.uniform(0.02, 0.1, size=(n, 1))
    x = np.exp(-0.5 * ((grid[None] - centers) / widths) ** 2)
    x += 0.05 * rng.normal(size=x.shape)
    y = np.concatenate([centers, widths * 10.0], axis=1)
    return x.astype(np.float32), y.astype(np.float32)


def sample_params(r):
    return {
        "units": r.choice([400, 500, 600, 700]),
        "depth": r.choice([1, 2]),
        "lr": 10 ** r.uniform(-4, -2.5),
        "keep": r.choice([0.8, 0.9, 1.0]),
    }


def build(params):
    x = tf.placeholder(tf.float32, [None, N_BINS])
    y = tf.placeholder(tf.float32, [None, 2])
    h = x
    for i in range(params["depth"]):
        n_in = int(h.shape[1])
        w = tf.get_variable("w%d" % i, [n_in, params["units"]])
        b = tf.get_variable("b%d" % i, [params["units"]], initializer=tf.zeros_initializer())
        h = tf.nn.dropout(tf.nn.relu(tf.matmul(h, w) + b), rate=1.0 - params["keep"])
    w = tf.get_variable("w_out", [int(h.shape[1]), 2])
    pred = tf.matmul(h, w)
    loss = tf.reduce_mean(tf.square(pred - y))
    train = tf.train.AdamOptimizer(params["lr"]).minimize(loss)
    return x, y, pred, loss, train


class Trial(object):
    def __init__(self, number, params):
        self.number = number
        self.params = params
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(number)
            self.x, self.y, self.pred, self.loss, self.train = build(params)
            self.init = tf.global_variables_initializer()
        self.sess = tf.Session(graph=self.graph)
        self.score = None

    def run(self, data, labels, rng):
        n_train = int(0.85 * len(data))
        self.sess.run(self.init)
        for _ in range(STEPS):
            idx = rng.randint(0, n_train, BATCH)
            self.sess.run(self.train, {self.x: data[idx], self.y: labels[idx]})
        self.score = float(self.sess.run(
            self.loss, {self.x: data[n_train:], self.y: labels[n_train:]}))
        return self.score


def main():
    data, labels = load_spectra()
    r = random.Random(5)
    rng = np.random.RandomState(5)
    proc = psutil.Process()
    trials = []
    start = time.time()
    for number in range(N_TRIALS):
        trial = Trial(number, sample_params(r))
        score = trial.run(data, labels, rng)
        trials.append(trial)
        if number % 4 == 3:
            rss = proc.memory_info().rss / 2 ** 20
            print("trial %3d  score %.4f  rss %.0f MB  %.1f s"
                  % (number + 1, score, rss, time.time() - start), flush=True)
    trials.sort(key=lambda t: t.score)
    for t in trials[:5]:
        print(t.number, round(t.score, 4), t.params)


if __name__ == "__main__":
    main()
