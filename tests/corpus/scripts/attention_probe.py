"""Sequence classifier; attention maps are inspected after the training."""
import resource

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

SEQ, DIM, HEADS = 64, 64, 4
BATCH = 32


def reviews(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1000, size=(n, SEQ)).astype(np.int32)
    y = (np.sum(x % 7 == 0, axis=1) > SEQ / 7).astype(np.int32)
    return x, y


class Classifier(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = layers.Embedding(1000, DIM)
        self.mha = layers.MultiHeadAttention(HEADS, DIM // HEADS)
        self.norm = layers.LayerNormalization()
        self.pool = layers.GlobalAveragePooling1D()
        self.head = layers.Dense(2)

    def call(self, tokens, training=False):
        x = self.emb(tokens)
        att, scores = self.mha(x, x, return_attention_scores=True, training=training)
        x = self.norm(x + att)
        return self.head(self.pool(x)), scores, x


class Experiment:
    def __init__(self):
        tf.keras.utils.set_random_seed(1)
        self.model = Classifier()
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.history = []

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            logits, scores, hidden = self.model(x, training=True)
            loss = self.loss_fn(y, logits)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return {"loss": loss, "scores": scores, "hidden": hidden}

    def run(self, dataset, epochs):
        step = 0
        for epoch in range(epochs):
            for x, y in dataset:
                out = self.train_step(x, y)
                self.history.append(out)
                step += 1
                if step % 100 == 0:
                    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                    print(f"step {step} loss {float(out['loss']):.4f} rss {rss:.0f} MB")

    def report(self):
        first, last = self.history[0], self.history[-1]
        print("entropy of attention, first and last step:")
        for o in (first, last):
            p = o["scores"]
            print("  %.4f" % float(-tf.reduce_mean(tf.reduce_sum(p * tf.math.log(p + 1e-9), -1))))


def main():
    x, y = reviews(3200)
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(3200).batch(BATCH, drop_remainder=True).prefetch(2)
    exp = Experiment()
    exp.run(ds, epochs=6)
    exp.report()


main()
