import numpy as np
import tensorflow as tf

pool = np.random.rand(60, 5).astype("float32")
labels = (pool.sum(1) > 2.5).astype("float32")[:, None]
model = tf.keras.Sequential([tf.keras.Input([5]), tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)


@tf.function
def train(x, y):
    with tf.GradientTape() as t:
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, model(x)))
    opt.apply_gradients(zip(t.gradient(loss, model.trainable_variables), model.trainable_variables))


@tf.function
def uncertainty(x):
    return -tf.abs(tf.sigmoid(model(x)) - 0.5)


def learn(idx, epochs=4, bs=5):
    for _ in range(epochs):
        np.random.shuffle(idx)
        for i in range(0, len(idx) - bs + 1, bs):
            j = idx[i : i + bs]
            train(pool[j], labels[j])


known = np.arange(10)
for query_round in range(3):
    learn(known)
    rest = np.setdiff1d(np.arange(60), known)
    scores = [float(uncertainty(pool[r : r + 1])[0, 0]) for r in rest]
    known = np.append(known, rest[np.argsort(scores)[-5:]])
# expect: 36 | for i in range(0, len(idx) - bs + 1, bs)
