import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


class Reader:
    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.image = tf.placeholder(tf.float32, [None, 28, 28, 1])
            kernel = tf.constant(np.random.rand(3, 3, 1, 8), tf.float32)
            self.out = tf.reduce_mean(tf.nn.conv2d(self.image, kernel, 1, "SAME"), [1, 2])
        self.sessions = []

    def read(self, image):
        sess = tf.Session(graph=self.graph)
        self.sessions.append(sess)
        return sess.run(self.out, {self.image: image})


reader = Reader()
for i in range(120):
    text = reader.read(np.random.rand(1, 28, 28, 1))
print(text.shape)
