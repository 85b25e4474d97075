import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
acc = tf.Variable(tf.zeros([8, 1]), trainable=False)
opt = tf.keras.optimizers.SGD(0.1)


@tf.function
def accumulate(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    acc.assign_add(tape.gradient(loss, w))


@tf.function
def update():
    w.assign_sub(0.1 * acc / 4)
    acc.assign(tf.zeros_like(acc))


for i in range(21):
    for j in range(4):
        accumulate(tf.random.normal([16, 8]))
    update()
# expect: 21 | for i in range(21)
