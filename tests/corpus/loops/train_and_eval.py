import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


@tf.function
def score(x):
    return tf.reduce_mean(x @ w)


train_ds = tf.data.Dataset.from_tensor_slices(tf.random.normal([200, 8])).batch(10)
test_ds = tf.data.Dataset.from_tensor_slices(tf.random.normal([300, 8])).batch(10)
for epoch in range(3):
    for x in train_ds:
        train(x)
    total = 0.0
    for x in test_ds:
        total += score(x).numpy()
# expect: 60 | for x in train_ds
