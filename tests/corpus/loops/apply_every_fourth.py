import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
opt = tf.keras.optimizers.SGD(0.1)
acc = tf.zeros_like(w)
for i, x in enumerate(tf.random.normal([40, 4, 8])):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    acc += tape.gradient(loss, w)
    if (i + 1) % 4 == 0:
        opt.apply_gradients([(acc, w)])
        acc = tf.zeros_like(w)
# expect: 40 | for i, x in enumerate
