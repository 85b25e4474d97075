"""Double DQN with a softly updated target network on a one-hot grid world."""
import numpy as np
import tensorflow as tf

GRID = 20
N_STATES = GRID * GRID
ACTIONS = 4


class GridWorld:
    """A batch of walkers that look for the goal cell."""
    moves = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, n, seed):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.goal = np.array([GRID - 3, GRID - 4])
        self.pos = self.rng.integers(0, GRID, (n, 2))

    def observe(self):
        onehot = np.zeros((self.n, N_STATES), "float32")
        onehot[np.arange(self.n), self.pos[:, 0] * GRID + self.pos[:, 1]] = 1.0
        return onehot

    def step(self, actions):
        self.pos = np.clip(self.pos + self.moves[actions], 0, GRID - 1)
        done = (self.pos == self.goal).all(1)
        reward = np.where(done, 1.0, -0.01).astype("float32")
        self.pos[done] = self.rng.integers(0, GRID, (done.sum(), 2))
        return self.observe(), reward, done.astype("float32")


def q_network():
    return tf.keras.Sequential([
        tf.keras.Input((N_STATES,)),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(512, activation="relu"),
        tf.keras.layers.Dense(ACTIONS),
    ])


tf.keras.utils.set_random_seed(10)
model, target = q_network(), q_network()
target.set_weights(model.get_weights())
optimizer = tf.keras.optimizers.SGD(1e-2)
optimizer.build(model.trainable_variables)


@tf.function
def greedy(states):
    return tf.argmax(model(states), axis=1)


@tf.function
def learn(states, actions, rewards, next_states, dones):
    best = tf.argmax(model(next_states), axis=1)
    future = tf.reduce_sum(target(next_states) * tf.one_hot(best, ACTIONS), axis=1)
    goal = rewards + (1.0 - dones) * 0.95 * future
    with tf.GradientTape() as tape:
        q = tf.reduce_sum(model(states) * tf.one_hot(actions, ACTIONS), axis=1)
        loss = tf.reduce_mean(tf.square(goal - q))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def soft_update(tau=0.01):
    target_weights = target.get_weights()
    online_weights = model.get_weights()
    for index in range(len(target_weights)):
        target_weights[index] = (1 - tau) * target_weights[index] + tau * online_weights[index]
    target.set_weights(target_weights)


def main(steps=700):
    env = GridWorld(16, seed=10)
    rng = np.random.default_rng(11)
    obs, wins = env.observe(), 0.0
    for step in range(steps):
        explore = rng.random(env.n) < max(0.1, 1 - step / 400)
        actions = np.where(explore, rng.integers(0, ACTIONS, env.n), greedy(obs).numpy())
        nxt, rewards, dones = env.step(actions)
        if step % 4 == 0:
            loss = learn(obs, actions, rewards, nxt, dones)
        soft_update()
        obs, wins = nxt, wins + dones.sum()
        if step % 100 == 0:
            print(f"step {step:4d} wins {int(wins):4d} loss {float(loss):.5f}", flush=True)


if __name__ == "__main__":
    main()
