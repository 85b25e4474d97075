"""Moves through the latent space of a small decoder and measures how much the pictures change."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(11)

LATENT = 16
decoder = tf.keras.Sequential(
    [
        tf.keras.layers.Input((LATENT,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(196, activation="sigmoid"),
    ]
)


@tf.function
def decode(z):
    return decoder(z)


z = tf.zeros([8, LATENT])
picture = decode(z)
changes = 0.0
for step in range(2400):
    z = 0.9 * z + 0.1 * tf.random.normal([8, LATENT])
    new = decode(z)
    changes += float(tf.reduce_mean(tf.abs(new - picture)))
    picture = new
    if step % 600 == 0:
        print(step, "mean change %.5f" % (changes / (step + 1)))
print("norm of the end %.3f" % np.linalg.norm(z.numpy()))
