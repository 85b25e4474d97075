"""Train a few candidate regressors one after the other and rank them."""
import gc
import time

import numpy as np
import keras
from keras import layers


def make_housing(n=16000, d=60, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype("float32")
    w = rng.normal(size=(d, 8)) / np.sqrt(d)
    y = np.tanh(x @ w).sum(axis=1) + 0.1 * rng.normal(size=n)
    return x, y.astype("float32")


def linear(d):
    return keras.Sequential([keras.Input((d,)), layers.Dense(1)], name="linear")


def mlp(d, width, depth):
    model = keras.Sequential(name="mlp_%dx%d" % (depth, width))
    model.add(keras.Input((d,)))
    for _ in range(depth):
        model.add(layers.Dense(width, activation="relu"))
    model.add(layers.Dense(1))
    return model


def residual(d, width):
    inp = keras.Input((d,))
    x = layers.Dense(width, activation="relu")(inp)
    for _ in range(2):
        h = layers.Dense(width, activation="relu")(x)
        x = layers.Add()([x, layers.Dense(width)(h)])
    return keras.Model(inp, layers.Dense(1)(x), name="residual_%d" % width)


def candidates(d):
    yield lambda: mlp(d, 512, 2)
    yield lambda: residual(d, 384)
    yield lambda: mlp(d, 640, 3)


def standardize(train, *others):
    mu, sd = train.mean(axis=0), train.std(axis=0) + 1e-6
    return [(a - mu) / sd for a in (train,) + others]


def main():
    keras.utils.set_random_seed(5)
    x, y = make_housing()
    cut = int(0.85 * len(x))
    xt, xv = standardize(x[:cut], x[cut:])
    yt, yv = y[:cut], y[cut:]
    results = []
    for make in candidates(x.shape[1]):
        model = make()
        model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
        start = time.time()
        h = model.fit(xt, yt, validation_data=(xv, yv), batch_size=256, epochs=5, verbose=0)
        took = time.time() - start
        results.append((h.history["val_loss"][-1], model.name, model.count_params(), took))
        print("%-14s val mse %.4f  (%d weights, %.1fs)" % (model.name, results[-1][0], results[-1][2], took))
        del model
        keras.backend.clear_session()
        gc.collect()
    results.sort()
    print("winner:", results[0][1])


if __name__ == "__main__":
    main()
