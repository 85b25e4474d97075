import tensorflow as tf


class Config:
    def __init__(self, gamma, clip):
        self.gamma = gamma
        self.clip = clip


net = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="tanh"), tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.Adam(1e-3)


@tf.function
def update(config, states):
    with tf.GradientTape() as tape:
        logits = net(states)
        loss = tf.reduce_mean(tf.clip_by_value(logits * config.gamma, -config.clip, config.clip))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss


states = tf.random.normal([64, 4])
for episode in range(16):
    config = Config(0.99, 0.2)
    loss = update(config, states)
print(float(loss))
