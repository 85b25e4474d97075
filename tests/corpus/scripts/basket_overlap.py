import numpy as np
import tensorflow as tf

ITEMS, SLOTS, BATCH = 500, 20, 384

rng = np.random.default_rng(19)
tf.keras.utils.set_random_seed(19)


def overlap(pair):
    user, candidate = pair
    same = tf.equal(user[:, None], candidate[None, :])
    shared = tf.reduce_sum(tf.cast(tf.reduce_any(same, axis=1), tf.float32))
    positions = tf.cast(tf.where(same), tf.float32)
    drift = tf.math.divide_no_nan(tf.reduce_sum(tf.abs(positions[:, 0] - positions[:, 1])), shared)
    return tf.stack([shared / SLOTS, drift / SLOTS])


class Ranker(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.table = tf.keras.layers.Embedding(ITEMS, 16)
        self.hidden = tf.keras.layers.Dense(64, activation="relu")
        self.score = tf.keras.layers.Dense(1)

    def call(self, inputs):
        users, candidates = inputs
        extra = tf.map_fn(overlap, (users, candidates), fn_output_signature=tf.TensorSpec((2,), tf.float32))
        u = tf.reduce_mean(self.table(users), axis=1)
        c = tf.reduce_mean(self.table(candidates), axis=1)
        return self.score(self.hidden(tf.concat([u, c, u * c, extra], axis=1)))[:, 0]


def baskets(n):
    users = rng.integers(0, ITEMS, (n, SLOTS))
    candidates = rng.integers(0, ITEMS, (n, SLOTS))
    copy = rng.random((n, SLOTS)) < rng.random((n, 1)) * 0.6
    candidates = np.where(copy, users, candidates)
    bought = (copy.mean(1) + rng.normal(scale=0.1, size=n) > 0.3).astype(np.float32)
    return users.astype(np.int32), candidates.astype(np.int32), bought


model = Ranker()
optimizer = tf.keras.optimizers.Adam(3e-3)
model((tf.zeros((2, SLOTS), tf.int32), tf.zeros((2, SLOTS), tf.int32)))
optimizer.build(model.trainable_variables)


@tf.function
def update(users, candidates, bought):
    with tf.GradientTape() as tape:
        logits = model((users, candidates))
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(bought, logits))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


data = tf.data.Dataset.from_tensor_slices(baskets(BATCH * 60)).shuffle(5000, seed=1)
data = data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
for epoch in range(5):
    total = 0.0
    for users, candidates, bought in data:
        total += update(users, candidates, bought)
    print(f"epoch {epoch}: loss {float(total) / 60:.4f}")
