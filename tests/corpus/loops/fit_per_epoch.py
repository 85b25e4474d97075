import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([5]), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.random.randn(80, 5), np.random.randn(80, 1)
best = 1e9
for epoch in range(4):
    history = model.fit(x, y, batch_size=8, verbose=0)
    score = model.evaluate(x, y, verbose=0)
    best = min(best, score)
# expect: 40 | history = model.fit(
