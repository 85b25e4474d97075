"""Quote service: turns an order request into features and prices it with a small network."""
import functools
import time

import keras
import numpy as np
import psutil
import tensorflow as tf
from keras import layers

TERMS = 1500


class Market:
    def __init__(self, seed=0):
        self.curve = np.cumsum(np.random.RandomState(seed).randn(20000)).astype(np.float64) / 50

    def window(self, stamp):
        k = int(stamp * 1000) % (len(self.curve) - TERMS)
        return self.curve[k:k + TERMS]


class FeatureBuilder:
    def __init__(self, market):
        self.market = market
        self.table = functools.lru_cache(maxsize=None)(self._table)

    def _table(self, symbol, stamp):
        w = self.market.window(stamp)
        slope = np.gradient(w)
        return np.stack([w, slope], axis=1)

    def batch(self, requests):
        return np.stack([self.table(s, t) for s, t in requests]).astype(np.float32)


class Pricer:
    def __init__(self):
        self.net = keras.Sequential([layers.Input((TERMS, 2)), layers.Conv1D(32, 9, 3, activation="relu"), layers.Conv1D(64, 9, 3, activation="relu"),
                                     layers.Conv1D(64, 5, 2, activation="relu"), layers.GlobalAveragePooling1D(), layers.Dense(1)])
        self.run = tf.function(self.net, input_signature=[tf.TensorSpec([None, TERMS, 2], tf.float32)])

    def price(self, x):
        return self.run(tf.constant(x)).numpy()[:, 0]


def requests(n, batch, rng):
    clock = 1000.0
    for _ in range(n):
        stamps = clock + np.sort(rng.rand(batch))
        clock += 1.0
        yield [("SYM%d" % rng.randint(40), float(t)) for t in stamps]


def main(n=420, batch=48):
    rng = np.random.RandomState(3)
    feats, pricer, proc = FeatureBuilder(Market()), Pricer(), psutil.Process()
    t0 = time.time()
    for k, req in enumerate(requests(n, batch, rng)):
        quotes = pricer.price(feats.batch(req))
        if k % 60 == 59:
            print("batch %d mean quote %.4f rss %d MB  %.1f s" % (k + 1, quotes.mean(), proc.memory_info().rss >> 20, time.time() - t0))


if __name__ == "__main__":
    main()
