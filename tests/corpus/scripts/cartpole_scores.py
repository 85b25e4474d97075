import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(24, activation="relu"), tf.keras.layers.Dense(2)])
model.compile("adam", "mse")
state = np.zeros(4)
rewards = 0
for t in range(60):
    q = model.predict(state[None], verbose=0)
    action = int(np.argmax(q[0]))
    state = 0.9 * state + 0.1 * np.random.randn(4) + 0.01 * action
    rewards += 1
print(rewards)
