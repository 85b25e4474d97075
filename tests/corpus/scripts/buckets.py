import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
emb = tf.keras.layers.Embedding(100, 16)
dense = tf.keras.layers.Dense(4)


@tf.function(reduce_retracing=True)
def forward(tokens):
    return dense(tf.reduce_mean(emb(tokens), 1))


for i in range(1500):
    length = int(rng.choice([16, 32, 48, 64]))
    out = forward(tf.constant(rng.integers(0, 100, size=(32, length))))
print(out.shape)
