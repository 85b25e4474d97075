import numpy as np
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)

    def call(self, x):
        return self.b(self.a(x))

    def train_step(self, data):
        x, y = data
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x) - y) ** 2)
            grads = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


net = Net()
net.compile("sgd", run_eagerly=True)
net.fit(
    np.random.randn(64, 3).astype("float32"),
    np.random.randn(64, 1).astype("float32"),
    batch_size=8,
    epochs=2,
    verbose=0,
)
# expect: 16 | net.fit(
