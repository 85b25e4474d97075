import tensorflow as tf

a, b = tf.Variable(tf.ones([4, 4])), tf.Variable(tf.ones([4, 4]))
x = tf.random.normal([4, 4])


@tf.function
def left():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x @ a)
    a.assign_sub(0.1 * tape.gradient(loss, a))


@tf.function
def right():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x @ b)
    b.assign_sub(0.1 * tape.gradient(loss, b))


for turn in range(50):
    if turn % 2:
        left()
    else:
        right()
# expect: 50 | for turn in range(50)
