import numpy as np
from tensorflow import keras

model = keras.Sequential([keras.Input([10, 2]), keras.layers.LSTM(4), keras.layers.Dense(1)])
model.compile(loss="mse", optimizer=keras.optimizers.RMSprop(1e-3))
series = np.sin(np.arange(400) / 10.0)


def windows(batch=8, look_back=10):
    while True:
        starts = np.random.randint(0, 380, batch)
        x = np.stack([np.stack([series[s : s + look_back]] * 2, -1) for s in starts])
        yield x, series[starts + look_back]


model.fit(
    windows(),
    steps_per_epoch=9,
    epochs=3,
    verbose=2,
    validation_data=windows(),
    validation_steps=3,
    callbacks=[keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=1)],
)
# expect: 27 | model.fit(
