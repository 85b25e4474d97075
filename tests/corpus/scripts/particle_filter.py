import tensorflow as tf

particles = tf.random.normal([500, 4])
for t in range(60):
    move = tf.function(lambda p: p + 0.1 * tf.random.normal(tf.shape(p)) * tf.nn.softmax(tf.reduce_sum(p, 1, keepdims=True), 0))
    particles = move(particles)
    weights = tf.nn.softmax(-tf.reduce_sum(particles ** 2, 1))
print(float(tf.reduce_sum(weights)))
