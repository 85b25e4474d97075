import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
state = tf.compat.v1.get_variable("state", [4], initializer=tf.compat.v1.zeros_initializer())
gain = tf.constant(0.1)
sess = tf.compat.v1.Session()
sess.run(tf.compat.v1.global_variables_initializer())
for t in range(220):
    measured = np.random.randn(4).astype("float32")
    new = sess.run(state) + 0.1 * (measured - sess.run(state))
    sess.run(tf.compat.v1.assign(state, new))
print(sess.run(state))
