import tensorflow as tf

import tfslowtop


@tf.function
def f(x):
    return x * 2


x = tf.ones([4])
for a in range(7):
    with tfslowtop.step():
        for b in range(50):
            x = f(x)
# expect: 7 | with tfslowtop.step()
