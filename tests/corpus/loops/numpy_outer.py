import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
table = {}


@tf.function
def score(batch):
    return tf.nn.softmax(tf.linalg.matmul(batch, batch, transpose_b=True))


def features(day):
    rows = []
    for hour in range(24):
        r = np.sort(rng.rand(200))
        rows.append([r.mean(), r.std(), np.percentile(r, 90)])
    return np.asarray(rows, dtype=np.float32)


for day in range(28):
    f = features(day)
    s = score(tf.constant(f))
    best = np.argsort(s.numpy(), axis=1)[:, -2:]
    for hour, pair in enumerate(best):
        table[day, hour] = tuple(pair)
# expect: 28 | for day in range(28)
