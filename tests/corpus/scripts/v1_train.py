import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.float32, [None, 1])
h = tf.layers.dense(x, 64, tf.nn.relu) if hasattr(tf.layers, "dense_") else tf.nn.relu(tf.matmul(x, tf.get_variable("w1", [20, 64])))
out = tf.matmul(h, tf.get_variable("w2", [64, 1]))
loss = tf.reduce_mean((out - y) ** 2)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(20):
        for i in range(100):
            _, value = sess.run([train, loss], {x: np.random.rand(32, 20), y: np.random.rand(32, 1)})
        print(epoch, value)
