"""Advantage actor-critic on a batch of simulated cart-poles with friction and wind."""
import collections

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(13)

N_ENVS = 256
HORIZON = 64
UPDATES = 44
GAMMA, LAM = 0.99, 0.95


class CartField:
    """Many carts in lock step; the dynamics are integrated with small sub-steps."""

    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.n = n
        self.state = self.rng.uniform(-0.05, 0.05, size=(n, 4))
        self.age = np.zeros(n, int)
        self.finished = collections.deque(maxlen=200)

    def _accel(self, s, force):
        _, v, th, om = s.T
        sin, cos = np.sin(th), np.cos(th)
        temp = (force + 0.05 * om**2 * sin - 0.02 * np.sign(v)) / 1.1
        alpha = (9.8 * sin - cos * temp - 0.001 * om) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        return np.stack([v, temp - 0.05 * alpha * cos / 1.1, om, alpha], axis=1)

    def step(self, action, substeps=20):
        wind = self.rng.normal(scale=0.5, size=self.n)
        force = np.where(action == 1, 10.0, -10.0) + wind
        h = 0.02 / substeps
        s = self.state
        for _ in range(substeps):
            k1 = self._accel(s, force)
            k2 = self._accel(s + 0.5 * h * k1, force)
            s = s + h * k2
        self.age += 1
        done = (np.abs(s[:, 0]) > 2.4) | (np.abs(s[:, 2]) > 0.21) | (self.age >= 500)
        self.finished.extend(self.age[done].tolist())
        s[done] = self.rng.uniform(-0.05, 0.05, size=(int(done.sum()), 4))
        self.age[done] = 0
        self.state = s
        return s.astype(np.float32), np.ones(self.n, np.float32), done


class ActorCritic(tf.keras.Model):
    def __init__(self, actions, hidden):
        super().__init__()
        self.common = tf.keras.Sequential([
            tf.keras.layers.Dense(hidden, activation="tanh"),
            tf.keras.layers.Dense(hidden, activation="tanh"),
        ])
        self.actor = tf.keras.layers.Dense(actions)
        self.critic = tf.keras.layers.Dense(1)

    def call(self, x):
        h = self.common(x)
        return self.actor(h), self.critic(h)[:, 0]


model = ActorCritic(2, 256)
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def act(obs):
    logits, value = model(obs)
    return tf.random.categorical(logits, 1, dtype=tf.int32)[:, 0], value


@tf.function
def update(obs, actions, returns, adv):
    with tf.GradientTape() as tape:
        logits, value = model(obs)
        logp = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1))
        loss = -tf.reduce_mean(logp * adv) + 0.5 * tf.reduce_mean((returns - value) ** 2) - 0.01 * entropy
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def advantages(rewards, values, dones, last):
    adv = np.zeros_like(rewards)
    run = np.zeros(N_ENVS, np.float32)
    for t in reversed(range(HORIZON)):
        nxt = last if t == HORIZON - 1 else values[t + 1]
        alive = 1.0 - dones[t]
        delta = rewards[t] + GAMMA * nxt * alive - values[t]
        run = delta + GAMMA * LAM * alive * run
        adv[t] = run
    return adv


def main():
    env = CartField(N_ENVS, 4)
    obs = env.state.astype(np.float32)
    for it in range(UPDATES):
        buf = {k: [] for k in ("obs", "act", "rew", "val", "done")}
        for _ in range(HORIZON):
            action, value = act(obs)
            action = action.numpy()
            nxt, reward, done = env.step(action)
            for k, v in zip(buf, (obs, action, reward, value.numpy(), done.astype(np.float32))):
                buf[k].append(v)
            obs = nxt
        b = {k: np.stack(v) for k, v in buf.items()}
        adv = advantages(b["rew"], b["val"], b["done"], act(obs)[1].numpy())
        ret = (adv + b["val"]).ravel()
        flat = ((adv - adv.mean()) / (adv.std() + 1e-8)).ravel()
        loss = update(b["obs"].reshape(-1, 4), b["act"].ravel(), ret, flat)
        if it % 5 == 0:
            print(f"update {it} loss {float(loss):.3f} mean episode {np.mean(env.finished or [0]):.1f}")


main()
