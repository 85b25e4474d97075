import random

import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.memory = []
        self.model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
        self.model.compile(loss="mse", optimizer="adam")

    def replay(self, batch_size):
        for s, a, r, s2 in random.sample(self.memory, batch_size):
            target = self.model.predict(s, verbose=0)
            target[0][a] = r
            self.model.fit(s, target, epochs=1, verbose=0)


agent = Agent()
for i in range(64):
    agent.memory.append((np.random.rand(1, 4), i % 2, 1.0, np.random.rand(1, 4)))
for episode in range(3):
    agent.replay(10)
print("done")
