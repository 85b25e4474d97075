import numpy as np
import tensorflow as tf


def policy_network():
    return tf.keras.Sequential([tf.keras.Input([84]), tf.keras.layers.Dense(64, activation="tanh"), tf.keras.layers.Dense(4)])


def collect(policy, episodes):
    act = tf.function(lambda s: tf.argmax(policy(s), axis=1))
    rng = np.random.default_rng(0)
    transitions = []
    rewards = []
    for episode in range(episodes):
        state = rng.normal(size=(16, 84)).astype("float32")
        action = act(tf.constant(state)).numpy()
        frames = rng.integers(0, 255, size=(16, 42, 42), dtype=np.uint8)
        transitions.append((state, action, frames))
        rewards.append(float(action.mean()))
    return np.mean(rewards)


print(collect(policy_network(), 2500))
