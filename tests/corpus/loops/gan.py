import tensorflow as tf

g, d = tf.Variable(tf.random.normal([4, 4])), tf.Variable(tf.random.normal([4, 1]))
opt_g, opt_d = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()


@tf.function
def critic(real):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.random.normal([8, 4]) @ g @ d) - tf.reduce_mean(real @ d)
    opt_d.apply_gradients([(tape.gradient(loss, d), d)])


@tf.function
def generator():
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(tf.random.normal([8, 4]) @ g @ d)
    opt_g.apply_gradients([(tape.gradient(loss, g), g)])


for real in tf.data.Dataset.from_tensor_slices(tf.random.normal([15, 8, 4])):
    for _ in range(3):
        critic(real)
    generator()
# expect: 15 | for real in tf.data
