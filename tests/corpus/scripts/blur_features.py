import numpy as np
import tensorflow as tf

w = tf.Variable(tf.random.normal([64, 10]))


def blur(a):
    return np.apply_along_axis(lambda r: np.convolve(r, np.ones(5) / 5, "same"), 1, a).astype("float32")


@tf.function
def train_step(x, y):
    features = tf.numpy_function(blur, [x], tf.float32)
    features.set_shape([256, 64])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, tf.matmul(features, w)))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


x = tf.random.normal([256, 64])
y = tf.random.uniform([256], maxval=10, dtype=tf.int32)
for i in range(250):
    loss = train_step(x, y)
print(float(loss))
