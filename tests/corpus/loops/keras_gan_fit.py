import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class GAN(keras.Model):
    def __init__(self):
        super().__init__()
        self.d = keras.Sequential([keras.Input([4]), layers.Dense(8, "relu"), layers.Dense(1)])
        self.g = keras.Sequential([keras.Input([2]), layers.Dense(8, "relu"), layers.Dense(4)])
        self.tracker = keras.metrics.Mean(name="d_loss")

    def compile(self, d_optimizer, g_optimizer):
        super().compile()
        self.d_opt, self.g_opt = d_optimizer, g_optimizer
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def metrics(self):
        return [self.tracker]

    def train_step(self, real):
        n = tf.shape(real)[0]
        fake = self.g(tf.random.normal([n, 2]))
        with tf.GradientTape() as tape:
            logits = self.d(tf.concat([fake, real], 0))
            d_loss = self.loss_fn(tf.concat([tf.ones([n, 1]), tf.zeros([n, 1])], 0), logits)
        self.d_opt.apply_gradients(
            zip(tape.gradient(d_loss, self.d.trainable_weights), self.d.trainable_weights)
        )
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(tf.zeros([n, 1]), self.d(self.g(tf.random.normal([n, 2]))))
        self.g_opt.apply_gradients(
            zip(tape.gradient(g_loss, self.g.trainable_weights), self.g.trainable_weights)
        )
        self.tracker.update_state(d_loss)
        return {"d_loss": self.tracker.result()}


class Monitor(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        for i in range(3):
            self.model.g(np.random.randn(1, 2)).numpy()


gan = GAN()
gan.compile(keras.optimizers.Adam(), keras.optimizers.Adam())
history = gan.fit(
    np.random.rand(48, 4).astype("float32"), batch_size=8, epochs=4, verbose=0, callbacks=[Monitor()]
)
# expect: 24 | history = gan.fit(
