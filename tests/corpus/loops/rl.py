import numpy as np
import tensorflow as tf

policy = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.Adam()
memory = []


def learn():
    s = tf.constant(np.array(memory[-8:], "float32"))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(policy(s) ** 2)
    grads = tape.gradient(loss, policy.trainable_variables)
    opt.apply_gradients(zip(grads, policy.trainable_variables))


for episode in range(4):
    s, t, done = np.zeros(4), 0, False
    while not done:
        q = policy(s[None]).numpy()
        s = s + np.random.randn(4) * (1 + q.argmax())
        memory.append(s)
        learn()
        t += 1
        done = t == 12
# expect: 48 | while not done
