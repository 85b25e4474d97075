import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
opt = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - y) ** 2)
    opt.apply_gradients([(tape.gradient(loss, w), w)])
    return loss


x, y = tf.random.normal([32, 8]), tf.random.normal([32, 1])
for i in range(40):
    loss = train_step(x, y)
    if i % 10 == 0:
        print(i, float(loss))
# expect: 40 | for i in range(40)
