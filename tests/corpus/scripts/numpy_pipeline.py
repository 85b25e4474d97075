import numpy as np
import tensorflow as tf

w = tf.Variable(tf.random.normal([256, 256]))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w)) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


data = np.random.rand(4096, 256).astype("float32")
for epoch in range(12):
    order = np.random.permutation(4096)
    for i in range(0, 4096, 100):
        loss = train_step(tf.constant(data[order[i:i + 100]]))
    print(epoch, loss.numpy())
