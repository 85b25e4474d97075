import random

import tensorflow as tf

random.seed(1)
leafs = tf.Variable(tf.random.normal([10, 4]))
W = tf.Variable(tf.random.normal([8, 4]))
U = tf.Variable(tf.random.normal([4, 1]))
opt = tf.keras.optimizers.Adagrad(0.05)


def grow(depth):
    if depth == 0 or random.random() < 0.2:
        return random.randrange(10)
    return grow(depth - 1), grow(depth - 1)


@tf.function(reduce_retracing=True)
def compose(a, b):
    return tf.tanh(tf.concat([a, b], 1) @ W)


def embed(node):
    if isinstance(node, int):
        return tf.gather(leafs, [node])
    left, right = node
    return compose(embed(left), embed(right))


for tree in [grow(3) for _ in range(20)]:
    with tf.GradientTape() as tape:
        logit = embed(tree) @ U
        loss = tf.reduce_sum(tf.nn.softplus(-logit))
    variables = [leafs, W, U]
    grads = [g if g is not None else tf.zeros_like(v) for g, v in zip(tape.gradient(loss, variables), variables)]
    opt.apply_gradients(zip(grads, variables))
# expect: 20 | for tree in [grow(3)
