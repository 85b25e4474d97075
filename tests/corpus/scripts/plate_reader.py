"""Licence-plate reading: every frame gives crops, every crop goes through the net."""
import time
from typing import List

import numpy as np
import tensorflow as tf

CHARS = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
tf.keras.utils.set_random_seed(20)


class Camera:
    def __init__(self, seed=1):
        self.rng = np.random.default_rng(seed)
        self.glyphs = self.rng.random((len(CHARS), 24, 16)).astype(np.float32)

    def frame(self, plates=8, chars=7):
        ids = self.rng.integers(0, len(CHARS), (plates, chars))
        img = np.concatenate([self.glyphs[ids[:, c]] for c in range(chars)], axis=2)
        img += 0.2 * self.rng.normal(size=img.shape).astype(np.float32)
        return img, ids


def character_net():
    return tf.keras.Sequential([
        tf.keras.layers.Input((24, 16, 1)),
        tf.keras.layers.Conv2D(16, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(24, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(len(CHARS)),
    ])


class Reader:
    def __init__(self, camera):
        self.net = character_net()
        self.net.compile(optimizer="adam",
                         loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        imgs, ids = camera.frame(plates=600)
        x = np.stack([c for img in imgs for c in self.crops(img)])
        self.net.fit(x, ids.ravel(), batch_size=64, epochs=2, verbose=0)

    @staticmethod
    def crops(img) -> List[np.ndarray]:
        return [img[:, c * 16:(c + 1) * 16, None] for c in range(img.shape[1] // 16)]

    def read(self, frame):
        crops = [c for img in frame for c in self.crops(img)]
        logits = [self.net(c[None], training=False) for c in crops]
        ids = [int(tf.argmax(l, axis=-1)[0]) for l in logits]
        return np.array(ids).reshape(len(frame), -1)


def main():
    camera = Camera()
    reader = Reader(camera)
    right, seen, start = 0, 0, time.time()
    for i in range(55):
        frame, ids = camera.frame()
        found = reader.read(frame)
        right += int((found == ids).all(axis=1).sum())
        seen += len(ids)
        if i % 10 == 9:
            print(f"frame {i + 1}: {right}/{seen} plates, {(i + 1) / (time.time() - start):.2f} fps")


if __name__ == "__main__":
    main()
