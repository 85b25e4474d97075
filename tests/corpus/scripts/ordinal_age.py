import numpy as np
import tensorflow as tf

NUM_CLASSES = 40
BATCH = 1024


def label_to_levels(label):
    """3 -> [1, 1, 1, 0, 0, ...]"""
    ones = tf.ones([label], tf.float32)
    zeros = tf.zeros([NUM_CLASSES - 1 - label], tf.float32)
    return tf.concat([ones, zeros], axis=0)


class CoralLoss(tf.keras.losses.Loss):
    def call(self, y_true, y_pred):
        labels = tf.cast(tf.reshape(y_true, [-1]), tf.int32)
        levels = tf.map_fn(label_to_levels, labels, fn_output_signature=tf.TensorSpec([NUM_CLASSES - 1]))
        log_p = tf.math.log_sigmoid(y_pred)
        terms = log_p * levels + (log_p - y_pred) * (1.0 - levels)
        return -tf.reduce_sum(terms, axis=1)


class CoralHead(tf.keras.layers.Layer):
    def build(self, shape):
        self.fc = self.add_weight(shape=(shape[-1], 1), name="fc")
        self.bias = self.add_weight(shape=(NUM_CLASSES - 1,), initializer="zeros", name="bias")

    def call(self, x):
        return tf.matmul(x, self.fc) + self.bias


def to_age(logits):
    return (tf.sigmoid(logits).numpy() > 0.5).sum(axis=1)


def make_faces(n, seed):
    rng = np.random.default_rng(seed)
    basis = np.random.default_rng(99).normal(size=(96,))
    x = rng.normal(size=(n, 96)).astype("float32")
    raw = x @ basis / np.sqrt(96) + 0.2 * rng.normal(size=n)
    age = np.clip((raw + 2.5) / 5.0 * NUM_CLASSES, 0, NUM_CLASSES - 1).astype("int32")
    return x, age


def main():
    tf.keras.utils.set_random_seed(8)
    x, age = make_faces(40960, 0)
    xv, agev = make_faces(3000, 1)

    model = tf.keras.Sequential([
        tf.keras.Input((96,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        CoralHead(),
    ])
    model.compile(optimizer=tf.keras.optimizers.Adam(2e-3), loss=CoralLoss())
    for epoch in range(6):
        h = model.fit(x, age, batch_size=BATCH, epochs=1, verbose=0)
        mae = np.abs(to_age(model(xv, training=False)) - agev).mean()
        print("epoch", epoch, "loss", round(h.history["loss"][0], 3), "mae", round(float(mae), 3))


if __name__ == "__main__":
    main()
