import numpy as np
from tensorflow import keras

model = keras.Sequential([keras.Input([8]), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
model.compile(optimizer="rmsprop", loss="mae")
X, Y = np.random.rand(400, 8), np.random.rand(400, 1)
val = np.random.rand(3, 8)
NUM_EPOCHS = 5


def evaluate(model):
    out = []
    for row in val:
        out.append(model.predict(row.reshape(1, -1), verbose=0)[0][0])
    return np.mean(out)


for e in range(NUM_EPOCHS):
    hist = model.fit(X, Y, batch_size=20, epochs=1, verbose=0, shuffle=True)
    print(e, hist.history["loss"][0], evaluate(model))
# expect: 100 | hist = model.fit(
