import numpy as np
import tensorflow as tf


class Capture:
    def __init__(self, n):
        self.n, self.opened = n, True

    def isOpened(self):
        return self.opened

    def read(self):
        self.n -= 1
        return self.n >= 0, np.random.randint(0, 255, (24, 24, 3), "uint8")

    def release(self):
        self.opened = False


detector = tf.keras.Sequential(
    [tf.keras.Input([16, 16, 3]), tf.keras.layers.Conv2D(4, 3), tf.keras.layers.Flatten(), tf.keras.layers.Dense(5)]
)
serve = tf.function(lambda im: detector(im, training=False))


def run(cap):
    results = []
    while cap.isOpened():
        ok, frame = cap.read()
        if not ok:
            break
        tensor = tf.image.resize(tf.convert_to_tensor(frame, tf.float32)[None], (16, 16)) / 255.0
        scores = serve(tensor)[0].numpy()
        for label, score in enumerate(scores):
            if score < 0:
                continue
            results.append((label, float(score)))
    cap.release()
    return results


run(Capture(33))
# expect: 33 | while cap.isOpened()
