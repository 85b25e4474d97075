import tensorflow as tf


@tf.function
def inner(x):
    return x * 2


def forward(x):
    for _ in range(4):
        x = inner(x)
    return x


for a in range(11):
    forward(tf.ones([4]))
    forward(tf.ones([4]))
# expect: 22 | def forward | forward
