import numpy as np
import tensorflow as tf

T = 20
betas = np.linspace(1e-4, 0.02, T).astype("float32")
alphas = np.cumprod(1 - betas)
unet = tf.keras.Sequential([tf.keras.Input([5]), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(4)])


@tf.function
def predict_noise(x, t):
    return unet(tf.concat([x, tf.fill([tf.shape(x)[0], 1], t)], 1))


def sample(n):
    x = tf.random.normal([n, 4])
    for t in reversed(range(T)):
        eps = predict_noise(x, tf.constant(t / T, tf.float32))
        x = (x - betas[t] / np.sqrt(1 - alphas[t]) * eps) / np.sqrt(1 - betas[t])
        if t > 0:
            x += np.sqrt(betas[t]) * tf.random.normal(tf.shape(x))
    return x.numpy()


grid = [sample(4) for _ in range(3)]
# expect: 60 | for t in reversed(range(T))
