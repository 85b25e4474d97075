import tensorflow as tf

true_w, true_b = 3.0, 2.0
x = tf.random.normal([200])
y = true_w * x + true_b
w, b = tf.Variable(0.0), tf.Variable(0.0)
for epoch in range(600):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w * x + b - y))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.05 * dw)
    b.assign_sub(0.05 * db)
print(w.numpy(), b.numpy())
