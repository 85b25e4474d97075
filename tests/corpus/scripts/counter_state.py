import tensorflow as tf


def accumulate(batch):
    counter = tf.Variable(tf.zeros([200, 200]))
    counter.assign_add(batch)
    return tf.reduce_sum(counter)


batch = tf.random.normal([200, 200])
total = 0.0
for i in range(8000):
    total += accumulate(batch)
print(float(total))
