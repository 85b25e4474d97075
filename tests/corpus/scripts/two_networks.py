import tensorflow as tf

actor = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(2)])
critic = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
a_opt, c_opt = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()


@tf.function
def update_critic(s, r):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((critic(s) - r) ** 2)
    c_opt.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
    return loss


@tf.function
def update_actor(s):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(actor(s))
    a_opt.apply_gradients(zip(tape.gradient(loss, actor.trainable_variables), actor.trainable_variables))
    return loss


losses = []
for i in range(700):
    s = tf.random.normal([64, 8])
    losses.append(float(update_critic(s, tf.ones([64, 1]))))
    if i % 2 == 0:
        update_actor(s)
print(sum(losses) / len(losses))
