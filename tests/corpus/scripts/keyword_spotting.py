"""Keyword spotting on one-second clips: log-mel front end and a small classifier."""
import os
import time

import keras
import numpy as np
import tensorflow as tf

RATE = 16000
WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off"]
CONFIG = {"clips": 1000, "batch": 64, "epochs": 8, "mels": 64, "frame": 640, "hop": 160}


def synth_clips(n, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(RATE, dtype=np.float32) / RATE
    labels = rng.integers(0, len(WORDS), n)
    base = np.stack([np.sin(2 * np.pi * (220 + 90 * k) * t) for k in range(len(WORDS))])
    noise = rng.standard_normal((n, RATE), dtype=np.float32)
    return (base[labels] * 0.3 + 0.5 * noise).astype(np.float32), labels.astype(np.int32)


class FrontEnd:
    def __init__(self, cfg):
        self.frame, self.hop = cfg["frame"], cfg["hop"]
        self.mel = tf.signal.linear_to_mel_weight_matrix(
            cfg["mels"], self.frame // 2 + 1 if self.frame & (self.frame - 1) == 0 else 513,
            RATE, 60.0, 7600.0)

    def __call__(self, wave, label):
        spec = tf.abs(tf.signal.stft(wave, self.frame, self.hop, fft_length=1024))
        mel = tf.math.log(tf.matmul(tf.square(spec), self.mel) + 1e-6)
        mel = (mel - tf.reduce_mean(mel)) / (tf.math.reduce_std(mel) + 1e-6)
        delta = tf.pad(mel[1:] - mel[:-1], [[0, 1], [0, 0]])
        return tf.stack([mel, delta], axis=-1), label


def pipeline(waves, labels, cfg, training):
    ds = tf.data.Dataset.from_tensor_slices((waves, labels))
    ds = ds.map(FrontEnd(cfg), num_parallel_calls=tf.data.AUTOTUNE)
    if training:
        ds = ds.shuffle(512, seed=4)
    return ds.batch(cfg["batch"]).prefetch(tf.data.AUTOTUNE)


def classifier(shape):
    inp = keras.Input(shape)
    x = keras.layers.AveragePooling2D((8, 4))(inp)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(64, activation="relu")(x)
    x = keras.layers.Dropout(0.2)(x)
    return keras.Model(inp, keras.layers.Dense(len(WORDS), activation="softmax")(x))


class EpochClock(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.begun = time.time()

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: {time.time() - self.begun:.2f}s "
              f"loss {logs['loss']:.3f} val acc {logs['val_accuracy']:.3f}", flush=True)


def main():
    keras.utils.set_random_seed(1)
    waves, labels = synth_clips(CONFIG["clips"])
    cut = int(0.85 * len(waves))
    train = pipeline(waves[:cut], labels[:cut], CONFIG, True)
    valid = pipeline(waves[cut:], labels[cut:], CONFIG, False)
    model = classifier(train.element_spec[0].shape[1:])
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False)
    print("parameters:", model.count_params(), "pid", os.getpid())
    model.fit(train, validation_data=valid, epochs=CONFIG["epochs"], verbose=0, callbacks=[EpochClock()])
    print("final", [round(float(v), 3) for v in model.evaluate(valid, verbose=0)])


if __name__ == "__main__":
    main()
