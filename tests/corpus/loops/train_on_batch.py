import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([5]), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
losses = []
for epoch in range(2):
    order = np.random.permutation(10)
    for b in order:
        losses.append(model.train_on_batch(np.random.randn(8, 5), np.random.randn(8, 1)))
# expect: 20 | for b in order
