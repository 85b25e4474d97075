import numpy as np
import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.Input((96, 96, 3))]
    + [tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu") for _ in range(3)]
    + [tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(6)]
)


@tf.function
def infer(frame):
    return model(frame, training=False)


def track(lanes, history):
    best = []
    for i, lane in enumerate(lanes):
        near = [abs(lane - past[i]) for past in history[-40:]]
        best.append(min(near) if near else 0.0)
    return best


rng = np.random.default_rng(0)
history, drift = [], 0.0
for n in range(420):
    frame = rng.random((1, 96, 96, 3), dtype=np.float32)
    lanes = infer(tf.constant(frame)).numpy()[0].tolist()
    drift += sum(track(lanes, history))
    history = history[-40:] + [lanes]
    if n % 60 == 0:
        print(n, drift)
