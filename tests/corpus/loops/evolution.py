import numpy as np
import tensorflow as tf

theta = np.zeros(12, "float32")
w = tf.Variable(tf.zeros([12]))
X = tf.random.normal([20, 12])


@tf.function
def fitness():
    return -tf.reduce_mean((tf.linalg.matvec(X, w) - 1.0) ** 2)


for generation in range(12):
    noise = np.random.randn(6, 12).astype("float32")
    reward = np.zeros(6)
    for j in range(6):
        w.assign(theta + 0.1 * noise[j])
        reward[j] = fitness().numpy()
    advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    theta = theta + 0.02 * noise.T @ advantage.astype("float32")
# expect: 12 | for generation in range(12)
