import tensorflow as tf


@tf.function
def infer(x):
    return tf.reduce_sum(x**2)


xs = tf.unstack(tf.random.normal([40, 6]))
results = [infer(x) for x in xs]
# expect: 40 | results = [infer(x)
