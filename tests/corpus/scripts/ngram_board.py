import os
import tempfile
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

flags = {
    "context": 24,
    "vocab": 64,
    "embed": 32,
    "hidden": 512,
    "batch": 32,
    "steps": 70,
    "logdir": os.path.join(tempfile.mkdtemp(), "board"),
}


def corpus(length, vocab, seed=3):
    rng = np.random.RandomState(seed)
    jump = rng.dirichlet(np.ones(vocab) * 0.1, size=vocab).cumsum(axis=1)
    text = np.zeros(length, dtype=np.int32)
    u = rng.rand(length)
    for i in range(1, length):
        text[i] = min(np.searchsorted(jump[text[i - 1]], u[i]), vocab - 1)
    return text


class NGramModel:
    def __init__(self, f):
        self.x = tf.placeholder(tf.int32, [None, f["context"]])
        self.y = tf.placeholder(tf.int32, [None])
        table = tf.get_variable("embedding", [f["vocab"], f["embed"]])
        h = tf.reshape(tf.nn.embedding_lookup(table, self.x), [-1, f["context"] * f["embed"]])
        sizes = [f["context"] * f["embed"], f["hidden"], f["hidden"], f["hidden"]]
        for n, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            w = tf.get_variable("w%d" % n, [a, b])
            c = tf.get_variable("b%d" % n, [b], initializer=tf.zeros_initializer())
            h = tf.nn.relu(tf.matmul(h, w) + c)
            tf.summary.histogram("activation/%d" % n, h)
        wo = tf.get_variable("w_out", [f["hidden"], f["vocab"]])
        logits = tf.matmul(h, wo)
        self.loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=logits))
        tf.summary.scalar("train_loss", self.loss)
        opt = tf.train.GradientDescentOptimizer(0.1)
        grads = opt.compute_gradients(self.loss)
        for g, v in grads:
            tf.summary.histogram("weights/" + v.op.name, v)
            tf.summary.histogram("grads/" + v.op.name, tf.convert_to_tensor(g))
        self.train_op = opt.apply_gradients(grads)


def batches(text, f, rng):
    span = np.arange(f["context"])
    while True:
        start = rng.randint(0, len(text) - f["context"] - 1, size=f["batch"])
        yield text[start[:, None] + span], text[start + f["context"]]


def train(f):
    np.random.seed(0)
    tf.set_random_seed(0)
    text = corpus(60000, f["vocab"])
    model = NGramModel(f)
    summaries = tf.summary.merge_all()
    feed = batches(text, f, np.random.RandomState(1))
    with tf.Session() as sess:
        writer = tf.summary.FileWriter(f["logdir"], sess.graph)
        sess.run(tf.global_variables_initializer())
        for step in range(f["steps"]):
            begin = time.time()
            x, y = next(feed)
            summ, loss, _ = sess.run([summaries, model.loss, model.train_op],
                                     {model.x: x, model.y: y})
            writer.add_summary(summ, step)
            if step % 10 == 0:
                print("{}/{} loss = {:.3f}, time/batch = {:.3f}".format(
                    step, f["steps"], loss, time.time() - begin), flush=True)
        writer.close()


if __name__ == "__main__":
    train(flags)
