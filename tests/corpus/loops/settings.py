import tensorflow as tf

x = tf.random.normal([64, 8])
for lr in (0.1, 0.01, 0.001):
    w = tf.Variable(tf.zeros([8, 1]))
    opt = tf.keras.optimizers.SGD(lr)

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - 1) ** 2)
        opt.apply_gradients([(tape.gradient(loss, w), w)])

    for k in range(20):
        train()
# expect: 60 | for k in range(20)
