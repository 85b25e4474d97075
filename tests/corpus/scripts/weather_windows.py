"""Forecasting an hourly weather series; three architectures compared in turn."""
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)

HOURS = 9000
FEATURES = 8
WIDTH = 24
MAX_EPOCHS = 4


def simulate():
    rng = np.random.default_rng(2)
    t = np.arange(HOURS)
    day = np.stack([np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24)], 1)
    year = np.stack([np.sin(2 * np.pi * t / 8766), np.cos(2 * np.pi * t / 8766)], 1)
    noise = np.cumsum(rng.normal(scale=0.1, size=(HOURS, FEATURES - 4)), axis=0)
    return np.hstack([noise + 3 * day[:, :1], day, year]).astype(np.float32)


class WindowGenerator:
    def __init__(self, train, val, test, width, label_index=0):
        self.splits = {"train": train, "val": val, "test": test}
        self.width = width
        self.label_index = label_index

    def make(self, name, shuffle):
        data = self.splits[name]
        ds = tf.keras.utils.timeseries_dataset_from_array(
            data=data[:-1],
            targets=data[self.width:, self.label_index:self.label_index + 1],
            sequence_length=self.width,
            shuffle=shuffle,
            batch_size=64,
        )
        return ds.cache().prefetch(tf.data.AUTOTUNE)


def lstm_model():
    return tf.keras.Sequential([
        tf.keras.layers.Input((WIDTH, FEATURES)),
        tf.keras.layers.LSTM(64),
        tf.keras.layers.Dense(1),
    ])


def conv_model():
    return tf.keras.Sequential([
        tf.keras.layers.Input((WIDTH, FEATURES)),
        tf.keras.layers.Conv1D(96, 5, activation="relu"),
        tf.keras.layers.Conv1D(96, 5, activation="relu"),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1),
    ])


def stacked_gru():
    return tf.keras.Sequential([
        tf.keras.layers.Input((WIDTH, FEATURES)),
        tf.keras.layers.GRU(48, return_sequences=True),
        tf.keras.layers.GRU(48),
        tf.keras.layers.Dense(1),
    ])


def compile_and_fit(model, window, patience=2):
    stop = tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=patience, mode="min")
    model.compile(loss="mse", optimizer="adam", metrics=["mae"])
    return model.fit(window["train"], epochs=MAX_EPOCHS, validation_data=window["val"],
                     callbacks=[stop], verbose=2)


def main():
    df = simulate()
    n = len(df)
    train, val, test = df[:int(n * 0.7)], df[int(n * 0.7):int(n * 0.9)], df[int(n * 0.9):]
    mean, std = train.mean(0), train.std(0) + 1e-6
    gen = WindowGenerator(*((d - mean) / std for d in (train, val, test)), width=WIDTH)
    window = {k: gen.make(k, shuffle=(k == "train")) for k in ("train", "val", "test")}

    performance = {}
    for name, build in (("lstm", lstm_model), ("conv", conv_model), ("gru", stacked_gru)):
        model = build()
        compile_and_fit(model, window)
        performance[name] = model.evaluate(window["test"], verbose=0)
    for name, (mse, mae) in performance.items():
        print(f"{name:8s} mse {mse:.4f} mae {mae:.4f}")


main()
