import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(2)])


def classify(row):
    logits = net(tf.constant(row[None], tf.float32))
    return int(tf.argmax(logits, 1)[0])


if __name__ == "__main__":
    rows = np.random.rand(45, 4)
    counts = np.zeros(2)
    for c in map(classify, rows):
        counts[c] += 1
# expect: 45 | for c in map(classify, rows)
