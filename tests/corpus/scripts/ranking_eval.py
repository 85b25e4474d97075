import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 20])
w = tf.get_variable("w", [20, 50])
logits = tf.matmul(x, w)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(250):
    batch = np.random.rand(16, 20)
    scores = sess.run(tf.nn.top_k(logits, k=5), {x: batch})
print(scores.values.shape)
