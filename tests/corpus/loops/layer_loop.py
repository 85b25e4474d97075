import tensorflow as tf


def make(n):
    k = tf.random.normal([8, 8])

    @tf.function
    def f(x):
        return tf.tanh(x @ k) + n

    return f


blocks = [make(float(n)) for n in range(5)]
xs = tf.random.normal([30, 4, 8])
out = []
for x in tf.unstack(xs):
    for block in blocks:
        x = block(x)
    out.append(x)
# expect: 30 | for x in tf.unstack(xs)
