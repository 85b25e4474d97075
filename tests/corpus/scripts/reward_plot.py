import numpy as np
import tensorflow as tf

w = tf.Variable(tf.ones([8, 1]))


@tf.function
def act(x):
    return tf.reduce_sum(tf.matmul(x, w))


memory = np.zeros(0)
x = tf.ones([1, 8])
for t in range(600):
    sample = np.random.rand(4000) + float(act(x))
    memory = np.append(memory, sample)
    norm = (memory - memory.mean()) / (memory.std() + 1e-9)
print(norm.shape)
