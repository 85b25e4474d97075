import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
emb = tf.Variable(tf.random.normal([100, 32]))
out = tf.Variable(tf.random.normal([32, 2]))


@tf.function
def learn(tokens, label):
    with tf.GradientTape() as tape:
        h = tf.reduce_mean(tf.nn.embedding_lookup(emb, tokens), 0, keepdims=True)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=tf.tanh(h) @ out)
        )
    ge, go = tape.gradient(loss, [emb, out])
    emb.scatter_sub(tf.IndexedSlices(0.1 * ge.values, ge.indices))
    out.assign_sub(0.1 * go)
    return loss


for length in range(5, 60):
    loss = learn(tf.constant(rng.randint(0, 100, length)), tf.constant([length % 2]))
for _ in range(1200):
    loss = learn(tf.constant(rng.randint(0, 100, 60)), tf.constant([1]))
print(float(loss))
