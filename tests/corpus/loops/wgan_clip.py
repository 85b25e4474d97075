import tensorflow as tf
from tensorflow.keras import layers


class WGAN:
    def __init__(self, n_critic=3, clip=0.05):
        self.critic = tf.keras.Sequential([tf.keras.Input([6]), layers.Dense(8, "relu"), layers.Dense(1)])
        self.gen = tf.keras.Sequential([tf.keras.Input([3]), layers.Dense(8, "relu"), layers.Dense(6)])
        self.c_opt = tf.keras.optimizers.RMSprop(1e-3)
        self.g_opt = tf.keras.optimizers.RMSprop(1e-3)
        self.n_critic, self.clip = n_critic, clip

    @tf.function
    def c_step(self, real):
        fake = self.gen(tf.random.normal([8, 3]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.critic(fake)) - tf.reduce_mean(self.critic(real))
        grads = tape.gradient(loss, self.critic.trainable_variables)
        self.c_opt.apply_gradients(zip(grads, self.critic.trainable_variables))
        return loss

    @tf.function
    def g_step(self):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.critic(self.gen(tf.random.normal([8, 3]))))
        grads = tape.gradient(loss, self.gen.trainable_variables)
        self.g_opt.apply_gradients(zip(grads, self.gen.trainable_variables))
        return loss

    def train(self, data, steps):
        history = []
        it = iter(data.repeat().shuffle(16).batch(8, drop_remainder=True))
        for step in range(steps):
            for _ in range(self.n_critic):
                c_loss = self.c_step(next(it))
                for w in self.critic.trainable_variables:
                    w.assign(tf.clip_by_value(w, -self.clip, self.clip))
            g_loss = self.g_step()
            if step % 10 == 0:
                history.append((float(c_loss), float(g_loss)))
        return history


if __name__ == "__main__":
    WGAN().train(tf.data.Dataset.from_tensor_slices(tf.random.normal([64, 6])), steps=18)
# expect: 18 | for step in range(steps)
