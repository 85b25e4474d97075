import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 3])
    y = tf.nn.softmax(x @ tf.ones([3, 4]))
sess = v1.Session(graph=graph)
rows = np.random.randn(35, 3)
done = 0
while done < len(rows):
    p = sess.run(y, {x: rows[done : done + 1]})
    done += 1
sess.close()
# expect: 35 | while done < len(rows)
