import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(2)])
net.compile("adam", "mse")
s = np.zeros((1, 4))
for move in range(9):
    q = net.predict(s, verbose=0)
    q[0, move % 2] = 1.0
    net.fit(s, q, epochs=1, verbose=0)
    s = s + 0.1
# expect: 9 | for move in range(9)
