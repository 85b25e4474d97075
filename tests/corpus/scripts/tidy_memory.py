import gc

import tensorflow as tf

w = tf.Variable(tf.random.normal([64, 64]))
cache = [{"id": i, "tags": [str(i)]} for i in range(150000)]


@tf.function
def step(x):
    return tf.reduce_sum(tf.matmul(x, w))


x = tf.random.normal([32, 64])
for i in range(12):
    value = step(x)
    gc.collect()
print(float(value), len(cache))
