import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
opt = tf.keras.optimizers.SGD(0.1)


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    opt.apply_gradients([(tape.gradient(loss, w), w)])


x = tf.random.normal([400, 8])
train(x)
for _ in range(4):
    train(x)
for i in range(300):
    train(x)
# expect: 300 | for i in range(300)
