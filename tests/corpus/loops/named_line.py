import tensorflow as tf


@tf.function
def inner(x):
    return x * 2


for a in range(6):
    for b in range(5):
        inner(tf.ones([4]))
    print(a)
# expect: 30 | for b in range(5) | named_line.py:10
