import numpy as np
from tensorflow import keras

x, y = np.random.rand(96, 4), np.random.rand(96, 1)


def build(hp):
    model = keras.Sequential([keras.Input([4])])
    for _ in range(hp["layers"]):
        model.add(keras.layers.Dense(hp["units"], activation="relu"))
    model.add(keras.layers.Dense(1))
    model.compile(keras.optimizers.Adam(hp["lr"]), "mse")
    return model


best, best_loss = None, np.inf
for trial in range(4):
    hp = {"layers": 1 + trial % 2, "units": 4 * (trial + 1), "lr": 10.0 ** -np.random.uniform(2, 4)}
    model = build(hp)
    h = model.fit(x, y, validation_split=0.25, epochs=2, batch_size=12, verbose=0)
    if h.history["val_loss"][-1] < best_loss:
        best, best_loss = hp, h.history["val_loss"][-1]
# expect: 48 | h = model.fit(
