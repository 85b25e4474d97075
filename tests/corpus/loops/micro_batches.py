import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
opt = tf.keras.optimizers.SGD(0.1)
data = tf.random.normal([20, 4, 16, 8])
for big in data:
    acc = tf.zeros_like(w)
    for x in big:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w) ** 2)
        acc += tape.gradient(loss, w)
    opt.apply_gradients([(acc / 4, w)])
# expect: 20 | for big in data
