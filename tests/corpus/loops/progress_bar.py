import sys

import tensorflow as tf

v = tf.Variable([1.0, 2.0, 3.0])
opt = tf.keras.optimizers.SGD(0.1)


class Bar:
    def __init__(self, items, every=7):
        self.items, self.every = items, every

    def __iter__(self):
        for n, item in enumerate(self.items):
            if n % self.every == 0:
                sys.stderr.write(f"\r{n}")
            yield item
        sys.stderr.write("\n")


def closure(x):
    return lambda: tf.reduce_sum((v * x) ** 2)


ds = tf.data.Dataset.from_tensor_slices(tf.random.normal([26, 3]))
for x in Bar(ds):
    f = closure(x)
    with tf.GradientTape() as tape:
        loss = f()
    opt.apply_gradients([(tape.gradient(loss, v), v)])
# expect: 26 | for x in Bar(ds)
