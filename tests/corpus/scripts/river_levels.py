"""Flood warning from simulated gauge histories."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

STATIONS = 6000
LENGTH = 512
EPOCHS = 24
BATCHES_PER_EPOCH = 25
BATCH = 32


def spectrum(station, level, noise):
    t = tf.range(LENGTH, dtype=tf.float32)
    wave = level * tf.sin(t / (5.0 + noise)) + tf.sin(t * noise)
    wave += 0.1 * tf.random.stateless_normal((LENGTH,), seed=tf.stack([station, 7]))
    frames = tf.signal.frame(wave, 64, 8)
    mag = tf.abs(tf.signal.rfft(frames * tf.signal.hann_window(64)))
    x = tf.math.log1p(tf.reduce_mean(mag, axis=0))
    y = tf.cast(level > 1.0, tf.float32)
    return x, y


def station_table(seed):
    rng = np.random.default_rng(seed)
    return (np.arange(STATIONS, dtype=np.int32),
            rng.uniform(0, 2, STATIONS).astype(np.float32),
            rng.random(STATIONS).astype(np.float32))


def training_data(seed):
    ds = tf.data.Dataset.from_tensor_slices(station_table(seed))
    ds = ds.map(spectrum, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(STATIONS, seed=seed)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


class FloodModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.Sequential([keras.layers.Dense(32, activation="relu"),
                                      keras.layers.Dense(16, activation="relu"),
                                      keras.layers.Dense(1)])

    def call(self, x):
        return self.body(x)[:, 0]


def main():
    keras.utils.set_random_seed(25)
    model, opt = FloodModel(), keras.optimizers.Adam(1e-3)
    bce = keras.losses.BinaryCrossentropy(from_logits=True)
    data = training_data(25)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = bce(y, model(x, training=True))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                model.trainable_variables))
        return loss

    for epoch in range(EPOCHS):
        began, total = time.time(), 0.0
        for x, y in data.take(BATCHES_PER_EPOCH):
            total += step(x, y)
        print(f"epoch {epoch}: {float(total) / BATCHES_PER_EPOCH:.4f} {time.time() - began:.2f}s", flush=True)


if __name__ == "__main__":
    main()
