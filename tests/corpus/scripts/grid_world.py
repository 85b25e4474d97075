import collections
import random
import numpy as np
import tensorflow as tf


class Grid:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.at, self.goal, self.t = [0, 0], [self.rng.randint(6), self.rng.randint(6)], 0
        return self.view()

    def view(self):
        board = np.zeros((2, 6, 6), np.float32)
        board[0][tuple(self.at)] = 1
        board[1][tuple(self.goal)] = 1
        return board.reshape(-1)

    def step(self, a):
        self.t += 1
        d = [(0, 1), (0, -1), (1, 0), (-1, 0)][a]
        self.at = [min(5, max(0, p + q)) for p, q in zip(self.at, d)]
        done = self.at == self.goal
        return self.view(), 1.0 if done else -0.01, done or self.t > 30


rng = np.random.RandomState(16)
random.seed(16)
env, replay = Grid(rng), collections.deque(maxlen=3000)
q = tf.keras.Sequential([tf.keras.Input((72,)), tf.keras.layers.Dense(128, "relu"), tf.keras.layers.Dense(4)])
target = tf.keras.models.clone_model(q)
target.set_weights(q.get_weights())
opt = tf.keras.optimizers.Adam(1e-3)
opt.build(q.trainable_variables)
best = tf.function(lambda s: tf.argmax(q(s), 1), input_signature=[tf.TensorSpec([None, 72], tf.float32)])


@tf.function
def learn(s, a, r, s2, d):
    choice = tf.argmax(q(s2), 1)
    goal = r + 0.97 * (1 - d) * tf.gather(target(s2), choice, batch_dims=1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.gather(q(s), a, batch_dims=1) - goal) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, q.trainable_variables), q.trainable_variables))
    return loss


s, returns, total = env.reset(), [], 0.0
for t in range(1800):
    a = rng.randint(4) if rng.rand() < max(0.1, 1 - t / 1500) else int(best(s[None])[0])
    s2, r, done = env.step(a)
    replay.append((s, a, np.float32(r), s2, np.float32(done)))
    total += r
    s = env.reset() if done else s2
    if done:
        returns.append(total)
        total = 0.0
    if t > 200:
        cols = zip(*random.sample(replay, 32))
        learn(*(tf.constant(np.array(c)) for c in cols))
    if t % 300 == 0:
        target.set_weights(q.get_weights())
        print(t, np.mean(returns[-20:]) if returns else None)
