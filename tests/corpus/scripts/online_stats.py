import tensorflow as tf

seen = tf.zeros([0, 64])
for i in range(300):
    batch = tf.random.normal([256, 64])
    seen = tf.concat([seen, batch], 0)
    mean = tf.reduce_mean(seen, 0)
    spread = tf.math.reduce_std(seen, 0)
print(mean.shape, spread.shape)
