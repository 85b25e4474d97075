import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
opt = tf.keras.optimizers.SGD(0.1)


@tf.function
def augment(x):
    return x + tf.random.normal(tf.shape(x))


@tf.function
def gradients(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    return tape.gradient(loss, [w])


@tf.function
def apply(g):
    opt.apply_gradients(zip(g, [w]))


x = tf.random.normal([32, 8])
count = 0
while True:
    g = gradients(augment(x))
    apply(g)
    count += 1
    if count == 30:
        break
# expect: 30 | while True
