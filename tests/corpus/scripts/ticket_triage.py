import numpy as np
import tensorflow as tf

rng = np.random.default_rng(2)
features = rng.normal(size=(12000, 96)).astype("float32")
queue = rng.integers(0, 5, 12000)
hidden = tf.keras.layers.Dense(256, activation="relu")
head = tf.keras.layers.Dense(5)
hidden.build((None, 96)), head.build((None, 256))
weights = hidden.trainable_variables + head.trainable_variables
optimizer = tf.keras.optimizers.Adam()
optimizer.build(weights)


@tf.function
def learn(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, head(hidden(x))))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


@tf.function
def correct(x, y):
    return tf.reduce_sum(tf.cast(tf.equal(tf.argmax(head(hidden(x)), 1), y), tf.int32))


def accuracy():
    hits = 0
    for start in range(0, len(features), 100):
        hits += correct(features[start:start + 100], queue[start:start + 100])
    return int(hits) / len(features)


batches = tf.data.Dataset.from_tensor_slices((features, queue)).shuffle(3000).batch(64).repeat().prefetch(2)
best = 0.0
for step, (x, y) in enumerate(batches.take(500)):
    learn(x, y)
    if step % 15 == 0:
        best = max(best, accuracy())
