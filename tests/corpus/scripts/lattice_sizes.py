import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)


@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)], jit_compile=True)
def energy(spins):
    right, down = tf.roll(spins, 1, 1), tf.roll(spins, 1, 0)
    local = tf.tanh(spins * (right + down))
    return tf.reduce_mean(tf.exp(-local) + tf.matmul(local, local, transpose_b=True)[0, 0])


found = {}
for n in range(60, 110):
    spins = tf.constant(rng.choice([-1.0, 1.0], (n, n)).astype("float32"))
    found[n] = float(energy(spins))
print(min(found.values()))
