import random

import numpy as np
import tensorflow.compat.v1 as tf

corpus = [random.randrange(40) for _ in range(600)]
data_index = 0


def generate_batch(size, window):
    global data_index
    batch, labels = np.ndarray(size, np.int32), np.ndarray((size, 1), np.int32)
    for i in range(size):
        batch[i] = corpus[data_index]
        labels[i, 0] = corpus[(data_index + random.randint(1, window)) % len(corpus)]
        data_index = (data_index + 1) % len(corpus)
    return batch, labels


g = tf.Graph()
with g.as_default():
    ids, labels = tf.placeholder(tf.int32, [16]), tf.placeholder(tf.int32, [16, 1])
    embeddings = tf.Variable(tf.random_uniform([40, 8], -1.0, 1.0))
    nce_w, nce_b = tf.Variable(tf.truncated_normal([40, 8])), tf.Variable(tf.zeros([40]))
    loss = tf.reduce_mean(
        tf.nn.nce_loss(nce_w, nce_b, labels, tf.nn.embedding_lookup(embeddings, ids), 4, 40)
    )
    optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    normal = embeddings / tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    similarity = tf.matmul(tf.nn.embedding_lookup(normal, [1, 2, 3]), normal, transpose_b=True)
    init = tf.global_variables_initializer()

with tf.Session(graph=g) as session:
    init.run()
    average = 0
    for step in range(61):
        b, l = generate_batch(16, 2)
        _, value = session.run([optimizer, loss], feed_dict={ids: b, labels: l})
        average += value
        if step % 10 == 0:
            print("Average loss at step", step, average / 10)
            average = 0
        if step % 30 == 0:
            sim = similarity.eval()
            for i in range(3):
                print("nearest to", i, (-sim[i]).argsort()[1:4])
# expect: 61 | for step in range(61)
