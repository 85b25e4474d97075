import numpy as np
import tensorflow as tf

features = np.random.RandomState(5).rand(1200, 12).astype("float32")
model = tf.keras.Sequential(
    [
        tf.keras.Input((12,)),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)


def score_all(table):
    out = []
    for i in range(len(table)):
        score = model(table[i : i + 1], training=False)
        out.append(float(score[0, 0]))
        if i % 500 == 0:
            print("row", i)
    return np.array(out)


scores = score_all(features)
print("flagged", int((scores > 0.5).sum()))
