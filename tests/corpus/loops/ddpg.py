import random
from collections import deque

import numpy as np
import tensorflow as tf


def mlp(n_in, n_out, act=None):
    return tf.keras.Sequential(
        [tf.keras.Input([n_in]), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(n_out, act)]
    )


actor, actor_t = mlp(3, 1, "tanh"), mlp(3, 1, "tanh")
critic, critic_t = mlp(4, 1), mlp(4, 1)
a_opt, c_opt = tf.keras.optimizers.Adam(1e-3), tf.keras.optimizers.Adam(2e-3)
buffer = deque(maxlen=500)


class Env:
    def reset(self):
        self.s, self.n = np.random.randn(3).astype("float32"), 0
        return self.s

    def step(self, a):
        self.s = (0.9 * self.s + 0.1 * a).astype("float32")
        self.n += 1
        return self.s, -float(np.sum(self.s**2)), self.n >= 14


@tf.function
def update_critic(s, a, r, s2):
    y = r + 0.99 * critic_t(tf.concat([s2, actor_t(s2)], 1))
    with tf.GradientTape() as t:
        loss = tf.reduce_mean((y - critic(tf.concat([s, a], 1))) ** 2)
    g = t.gradient(loss, critic.trainable_variables)
    c_opt.apply_gradients(zip(g, critic.trainable_variables))


@tf.function
def update_actor(s):
    with tf.GradientTape() as t:
        loss = -tf.reduce_mean(critic(tf.concat([s, actor(s)], 1)))
    g = t.gradient(loss, actor.trainable_variables)
    a_opt.apply_gradients(zip(g, actor.trainable_variables))


def soft_update(target, source, tau=0.01):
    for t, s in zip(target.variables, source.variables):
        t.assign(tau * s + (1 - tau) * t)


def policy(state):
    a = tf.squeeze(actor(tf.convert_to_tensor(state)[None]))
    return np.clip(a.numpy() + np.random.normal(0, 0.1), -1, 1)


env = Env()
for ep in range(3):
    state, total = env.reset(), 0.0
    while True:
        action = policy(state)
        nxt, reward, done = env.step(action)
        buffer.append((state, [action], [reward], nxt))
        total += reward
        if len(buffer) >= 8:
            batch = [np.array(v, "float32") for v in zip(*random.sample(buffer, 8))]
            update_critic(*batch)
            update_actor(batch[0])
            soft_update(actor_t, actor)
            soft_update(critic_t, critic)
        if done:
            break
        state = nxt
    print(ep, total)
# expect: 42 | while True
