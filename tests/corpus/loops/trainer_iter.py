import tensorflow as tf


class Trainer:
    def __init__(self, fn, data):
        self.fn, self.data, self.step = fn, data, 0

    def __iter__(self):
        for batch in self.data:  # either
            self.step += 1
            yield self.step, self.fn(batch)


w = tf.Variable(tf.zeros([3]))


@tf.function
def fn(b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((b - w) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return {"loss": loss}


def main():
    for step, metrics in Trainer(fn, tf.data.Dataset.from_tensor_slices(tf.random.normal([28, 3]))):  # either
        if step % 7 == 0:
            print(step, float(metrics["loss"]))


main()
# expect: 28 | # either
