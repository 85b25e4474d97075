import tempfile
import numpy as np
import tensorflow as tf


class Board:
    def __init__(self, folder):
        with tf.Graph().as_default():
            self.writer = tf.compat.v1.summary.FileWriter(folder)

    def scalar(self, tag, value, step):
        value = tf.compat.v1.Summary.Value(tag=tag, simple_value=float(value))
        self.writer.add_summary(tf.compat.v1.Summary(value=[value]), step)

    def log(self, step, loss, net):
        self.scalar("loss", loss, step)
        for v in net.trainable_variables:
            a = v.numpy()
            for name, value in (("mean", a.mean()), ("std", a.std()), ("min", a.min()), ("max", a.max())):
                self.scalar(v.path + "/" + name, value, step)
                self.writer.flush()


board = Board(tempfile.mkdtemp())
net = tf.keras.Sequential(
    [tf.keras.Input((40,))]
    + [tf.keras.layers.Dense(64, "relu") for _ in range(4)]
    + [tf.keras.layers.Dense(5)]
)
opt = tf.keras.optimizers.Adam()
opt.build(net.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=net(x, training=True))
        )
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss


rng = np.random.RandomState(0)
for step in range(260):
    loss = train_step(tf.constant(rng.rand(64, 40).astype("float32")), tf.constant(rng.randint(0, 5, 64)))
    board.log(step, loss, net)
    if step % 100 == 0:
        print(step, float(loss))
