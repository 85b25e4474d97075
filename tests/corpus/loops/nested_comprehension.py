import numpy as np
import tensorflow as tf

table = tf.random.normal([50, 8])


@tf.function
def similarity(ids):
    v = tf.nn.l2_normalize(tf.gather(table, ids), 1)
    return tf.reduce_mean(tf.matmul(v, v, transpose_b=True))


users = {name: [np.random.randint(0, 50, 5) for _ in range(15)] for name in ("ann", "bob", "cy", "di")}
report = {
    name: np.mean([float(similarity(tf.constant(ids))) for ids in history])
    for name, history in users.items()
}
print(report)
# expect: 60 | for ids in history
