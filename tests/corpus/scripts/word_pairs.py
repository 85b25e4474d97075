import numpy as np
import tensorflow as tf

WORDS, SIZE = 120_000, 24
inner = tf.Variable(tf.random.uniform([WORDS, SIZE], -0.05, 0.05))
outer = tf.Variable(tf.random.uniform([WORDS, SIZE], -0.05, 0.05))
optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.build([inner, outer])


@tf.function
def skipgram(centre, context, label):
    with tf.GradientTape() as tape:
        score = tf.reduce_sum(tf.gather(inner, centre) * tf.gather(outer, context), 1)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(label, score))
    optimizer.apply_gradients(zip(tape.gradient(loss, [inner, outer]), [inner, outer]))
    return loss


rng = np.random.default_rng(0)
for step in range(130):
    centre, context = rng.integers(0, WORDS, (2, 256))
    skipgram(tf.constant(centre), tf.constant(context), tf.constant(rng.integers(0, 2, 256).astype("float32")))
