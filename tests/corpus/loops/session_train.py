import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
with tf.Graph().as_default():
    x = v1.placeholder(tf.float32, [None, 3])
    y = v1.placeholder(tf.float32, [None, 1])
    w = v1.get_variable("w", [3, 1])
    loss = tf.reduce_mean((x @ w - y) ** 2)
    train = v1.train.GradientDescentOptimizer(0.1).minimize(
        loss, global_step=v1.train.get_or_create_global_step()
    )
    with v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        for epoch in range(5):
            for batch in range(10):
                feed = {x: np.random.randn(4, 3), y: np.random.randn(4, 1)}
                _, value = sess.run([train, loss], feed)
            print(epoch, sess.run(loss, feed))
# expect: 50 | for batch in range(10)
