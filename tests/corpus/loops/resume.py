import tempfile

import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices(tf.random.normal([50, 3])).repeat().batch(5)
where = tempfile.mkdtemp()


def session(stop_at):
    w = tf.Variable(tf.ones([3, 1]))
    step = tf.Variable(0, dtype=tf.int64)
    opt = tf.keras.optimizers.SGD(0.01)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=w, step=step), where, 3)
    manager.restore_or_initialize()

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w) ** 2)
        opt.apply_gradients([(tape.gradient(loss, w), w)])
        step.assign_add(1)
        return loss

    for x in data:
        train(x)
        if int(step) % 10 == 0:
            manager.save()
        if int(step) >= stop_at:
            return


for stop in (10, 25, 40):
    session(stop)
# expect: 45 | for x in data
