import tensorflow as tf

tf.random.set_seed(0)
STEPS, BATCH = 60, 32


def rollout(position, velocity):
    states = tf.TensorArray(tf.float32, size=STEPS)
    for t in tf.range(STEPS):
        force = -position - 0.1 * velocity + tf.sin(tf.cast(t, tf.float32) * 0.1)
        velocity = velocity + 0.05 * force
        position = position + 0.05 * velocity
        states = states.write(t, tf.concat([position, velocity], 1))
    return states.stack()


for episode in range(25):
    start = tf.fill([BATCH, 2], 0.01 * episode)
    out = rollout(start, tf.zeros([BATCH, 2]))
    if episode % 10 == 0:
        print("episode", episode, float(tf.reduce_mean(out)))
