import itertools
import numpy as np
import tensorflow as tf

rs = np.random.RandomState(1)
x, y = rs.rand(6000, 20).astype("float32"), rs.randint(0, 2, 6000)
results = {}
for units, rate in itertools.product([32, 64], [1e-2, 1e-3]):
    tf.keras.backend.clear_session()
    model = tf.keras.Sequential(
        [tf.keras.Input((20,)), tf.keras.layers.Dense(units, "relu"), tf.keras.layers.Dense(1, "sigmoid")]
    )
    model.compile(tf.keras.optimizers.Adam(rate), "binary_crossentropy", metrics=["accuracy"])
    h = model.fit(
        x[:5000], y[:5000], validation_data=(x[5000:], y[5000:]), batch_size=50, epochs=4, verbose=0
    )
    results[units, rate] = max(h.history["val_accuracy"])
    print(units, rate, results[units, rate])
print("best", max(results, key=results.get))
