import tensorflow as tf

gen = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(16)])
critic = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
g_opt = tf.keras.optimizers.Adam(1e-4)
c_opt = tf.keras.optimizers.Adam(1e-4)
real = tf.random.normal([64, 16])


def train_step(real):
    noise = tf.random.normal([64, 8])
    with tf.GradientTape() as g_tape, tf.GradientTape() as c_tape:
        fake = gen(noise)
        c_loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
        g_loss = -tf.reduce_mean(critic(fake))
    c_opt.apply_gradients(zip(c_tape.gradient(c_loss, critic.trainable_variables), critic.trainable_variables))
    g_opt.apply_gradients(zip(g_tape.gradient(g_loss, gen.trainable_variables), gen.trainable_variables))
    return c_loss, g_loss


for step in range(70):
    c_loss, g_loss = train_step(real)
print(float(c_loss), float(g_loss))
