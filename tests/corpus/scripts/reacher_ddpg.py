"""DDPG on a two-link reaching task simulated with NumPy."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

OBS, ACT = 8, 2


def mlp(n_in, n_out, out_activation=None, width=256, depth=5):
    inp = keras.Input((n_in,))
    h = inp
    for _ in range(depth):
        h = layers.Dense(width, activation="relu")(h)
    return keras.Model(inp, layers.Dense(n_out, activation=out_activation)(h))


class Buffer:
    def __init__(self, size, rng):
        self.rng, self.size, self.n = rng, size, 0
        self.s = np.zeros((size, OBS), "float32")
        self.a = np.zeros((size, ACT), "float32")
        self.r = np.zeros((size, 1), "float32")
        self.s2 = np.zeros((size, OBS), "float32")

    def add(self, s, a, r, s2):
        i = self.n % self.size
        self.s[i], self.a[i], self.r[i], self.s2[i] = s, a, r, s2
        self.n += 1

    def sample(self, k):
        idx = self.rng.integers(0, min(self.n, self.size), k)
        return [tf.constant(v[idx]) for v in (self.s, self.a, self.r, self.s2)]


class DDPG:
    def __init__(self, tau=0.005, gamma=0.98):
        self.tau, self.gamma = tau, gamma
        self.actor, self.target_actor = mlp(OBS, ACT, "tanh"), mlp(OBS, ACT, "tanh")
        self.critic, self.target_critic = mlp(OBS + ACT, 1), mlp(OBS + ACT, 1)
        self.target_actor.set_weights(self.actor.get_weights())
        self.target_critic.set_weights(self.critic.get_weights())
        self.opt_a, self.opt_c = keras.optimizers.SGD(1e-3), keras.optimizers.SGD(1e-2)
        self.opt_a.build(self.actor.trainable_variables)
        self.opt_c.build(self.critic.trainable_variables)

    @tf.function
    def learn(self, s, a, r, s2):
        q2 = self.target_critic(tf.concat([s2, self.target_actor(s2)], 1))
        with tf.GradientTape() as tape:
            c_loss = tf.reduce_mean(tf.square(r + self.gamma * q2 - self.critic(tf.concat([s, a], 1))))
        self.opt_c.apply_gradients(zip(tape.gradient(c_loss, self.critic.trainable_variables),
                                       self.critic.trainable_variables))
        with tf.GradientTape() as tape:
            a_loss = -tf.reduce_mean(self.critic(tf.concat([s, self.actor(s)], 1)))
        self.opt_a.apply_gradients(zip(tape.gradient(a_loss, self.actor.trainable_variables),
                                       self.actor.trainable_variables))
        return c_loss

    def update_target(self, target, source):
        new_weights = []
        for old, new in zip(target.get_weights(), source.get_weights()):
            new_weights.append(self.tau * new + (1.0 - self.tau) * old)
        target.set_weights(new_weights)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=700)
    args = p.parse_args()
    rng = np.random.default_rng(3)
    buffer, agent = Buffer(2000, rng), DDPG()
    s = rng.standard_normal(OBS).astype("float32")
    for step in range(args.steps):
        a = rng.uniform(-1, 1, ACT).astype("float32")
        s2 = (0.95 * s + 0.1 * np.resize(a, OBS) + 0.02 * rng.standard_normal(OBS)).astype("float32")
        buffer.add(s, a, -np.abs(s2[:2]).sum(), s2)
        s = s2
        if step >= 32:
            loss = agent.learn(*buffer.sample(16))
            agent.update_target(agent.target_critic, agent.critic)
            agent.update_target(agent.target_actor, agent.actor)
            if step % 100 == 0:
                print(f"step {step} critic loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
