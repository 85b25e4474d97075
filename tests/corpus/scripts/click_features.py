"""Click model; the features of each record are computed when the batch is made."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(25)
records = [
    {
        "title": " ".join(rng.choice(["red", "blue", "shoe", "hat", "sale", "new"], 40)),
        "price": rng.rand() * 90,
        "clicked": float(rng.rand() < 0.3),
    }
    for _ in range(3000)
]


def featurize(record):
    counts = {}
    words = record["title"].split(" ")
    for first in words:
        for second in words:
            key = first + "_" + second
            counts[key] = counts.get(key, 0) + 1
    row = [
        counts.get(a + "_" + b, 0) / 100.0 for a in ("red", "blue", "shoe") for b in ("hat", "sale", "new")
    ]
    return row + [record["price"] / 100.0]


def make_batch(chosen):
    rows, labels = [], []
    for record in chosen:
        rows.append(featurize(record))
        labels.append([record["clicked"]])
    return tf.constant(rows, tf.float32), tf.constant(labels, tf.float32)


net = tf.keras.Sequential(
    [tf.keras.Input((10,)), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(1)]
)
opt = tf.keras.optimizers.Adam()
opt.build(net.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=net(x)))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


for epoch in range(2):
    for start in range(0, len(records), 64):
        features, labels = make_batch(records[start : start + 64])
        loss = train_step(features, labels)
    print("epoch", epoch, float(loss))
