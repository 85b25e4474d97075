import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

graph = tf.Graph()
with graph.as_default():
    data = tf.data.Dataset.from_tensor_slices(
        (np.random.rand(48, 4).astype("f"), np.random.rand(48, 1).astype("f"))
    ).batch(4)
    iterator = tf.data.make_initializable_iterator(data)
    x, y = iterator.get_next()
    w = tf.get_variable("w", [4, 1])
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("w", w)
    merged = tf.summary.merge_all()
    train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
    init = tf.global_variables_initializer()

with tf.Session(graph=graph) as sess, tempfile.TemporaryDirectory() as logs:
    writer = tf.summary.FileWriter(logs, graph)
    sess.run(init)
    n = 0
    for epoch in range(4):
        sess.run(iterator.initializer)
        try:
            while True:
                if n % 5 == 0:
                    summary, _ = sess.run([merged, train_op])
                    writer.add_summary(summary, n)
                else:
                    sess.run(train_op)
                n += 1
        except tf.errors.OutOfRangeError:
            pass
        print("done epoch", epoch, n)
    writer.close()
# expect: 48 | while True
