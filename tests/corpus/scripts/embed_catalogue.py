import numpy as np
import tensorflow as tf

w1 = tf.Variable(tf.random.normal([32, 64]))
w2 = tf.Variable(tf.random.normal([64, 16]))


@tf.function
def embed(x):
    return tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)


catalogue = tf.random.normal([20, 128, 32])
for page in range(20):
    vectors = []
    for item in catalogue[page]:
        vectors.append(embed(item[None]))
    index = np.concatenate([v.numpy() for v in vectors])
print(index.shape)
