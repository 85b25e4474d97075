"""One of two workers that train together, started as two processes: workers.py PORT PORT NUMBER."""

import json
import os
import sys

first, second, number = sys.argv[1:]
os.environ["TF_CONFIG"] = json.dumps(
    {
        "cluster": {"worker": [f"localhost:{first}", f"localhost:{second}"]},
        "task": {"type": "worker", "index": int(number)},
    }
)
import tensorflow as tf  # noqa: E402

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.reshape(tf.range(8.0), [8, 1]) / 8)


def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weights - 1) ** 2)
    gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights))
    weights.assign_sub(0.01 * gradient)
    return loss


@tf.function
def train_step(iterator):
    return strategy.reduce("sum", strategy.run(train, args=(next(iterator),)), axis=None)


rows = tf.random.stateless_normal([64, 8], [1, 2])
iterator = iter(
    strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).repeat().batch(8))
)
for _ in range(25):
    loss = train_step(iterator)
print("result", float(loss).hex(), [float(w).hex() for w in weights.numpy()[:, 0]])
sys.exit(4)
