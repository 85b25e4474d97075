"""Forecasting net with a model-owned training step, looped in graph mode."""
import logging
import time

import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO, format='%(asctime)s %(message)s')
log = logging.getLogger('forecast')
log.setLevel(logging.INFO)

WINDOW, HORIZON = 48, 12


def load_consumption(days=60, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(days * 24, dtype='float32')
    series = (np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 168)
              + 0.1 * rng.standard_normal(t.size)).astype('float32')
    idx = np.arange(len(series) - WINDOW - HORIZON)
    x = np.stack([series[i:i + WINDOW] for i in idx])
    y = np.stack([series[i + WINDOW:i + WINDOW + HORIZON] for i in idx])
    return x[..., None], y


class Forecaster(tf.keras.Model):
    def __init__(self, width=32):
        super().__init__()
        self.blocks = [tf.keras.layers.Conv1D(width, 3, padding='causal', dilation_rate=2 ** i,
                                              activation='relu') for i in range(4)]
        self.norms = [tf.keras.layers.LayerNormalization() for _ in range(4)]
        self.head = tf.keras.layers.Dense(HORIZON)
        self.opt = tf.keras.optimizers.Adam(2e-3)

    def call(self, x, training=False):
        for conv, norm in zip(self.blocks, self.norms):
            h = norm(conv(x))
            x = h if x.shape[-1] == 1 else x + h
        return self.head(x[:, -1])

    def step(self, x, y):
        with tf.GradientTape() as tape:
            pred = self(x, training=True)
            loss = tf.reduce_mean(tf.abs(pred - y))
        grads = tape.gradient(loss, self.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.trainable_variables))
        return loss


@tf.function
def run_epoch(step_fn, dataset):
    total, n = 0.0, 0.0
    for x, y in dataset:
        total += step_fn(x, y)
        n += 1.0
    return total / n


class Experiment:
    def __init__(self, epochs, batch_size=128):
        self.epochs = epochs
        x, y = load_consumption()
        cut = int(len(x) * 0.8)
        self.train = tf.data.Dataset.from_tensor_slices((x[:cut], y[:cut])).shuffle(
            2048, seed=1).batch(batch_size, drop_remainder=True).prefetch(2)
        self.x_val, self.y_val = tf.constant(x[cut:]), tf.constant(y[cut:])
        self.model = Forecaster()
        self.model(self.x_val[:1])
        self.model.opt.build(self.model.trainable_variables)

    def validate(self):
        pred = self.model(self.x_val)
        return float(tf.reduce_mean(tf.abs(pred - self.y_val)))

    def run(self):
        for epoch in range(self.epochs):
            t0 = time.time()
            loss = run_epoch(self.model.step, self.train)
            if epoch % 3 == 0:
                log.info('epoch %d  train mae %.4f  val mae %.4f  %.2fs',
                         epoch, float(loss), self.validate(), time.time() - t0)


if __name__ == '__main__':
    tf.keras.utils.set_random_seed(42)
    Experiment(epochs=10).run()
    log.info('training finished')
