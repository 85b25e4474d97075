import tensorflow as tf


@tf.function
def f(x):
    return tf.reduce_sum(x)


serve = f.get_concrete_function(tf.TensorSpec([None, 4], tf.float32))


class Queue:
    def __init__(self):
        self.items = [tf.ones([n % 5 + 1, 4]) for n in range(33)]

    def drain(self):
        while self.items:
            yield serve(self.items.pop())


total = sum(r.numpy() for r in Queue().drain())
# expect: 33 | total = sum(
