import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
state = np.zeros(16, "float32")
m = tf.random.normal([16, 16])
for t in range(60):
    noise = rng.normal(size=(16, 16)).astype("float32")
    a = tf.constant(noise) @ m
    state = np.tanh(state + tf.reduce_mean(a, 0).numpy())
# expect: 60 | for t in range(60)
