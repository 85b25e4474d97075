"""Click model with one table per categorical field; training log in CSV form."""
import collections
import io
import time

import numpy as np
import tensorflow as tf

Config = collections.namedtuple("Config", "fields rows dim batch steps lr")
CFG = Config(fields=26, rows=20000, dim=32, batch=256, steps=230, lr=0.1)


class ClickModel(tf.Module):
    def __init__(self, cfg):
        super().__init__()
        rng = np.random.default_rng(0)
        self.cfg = cfg
        self.tables = [tf.Variable(rng.normal(0, 0.05, (cfg.rows, cfg.dim)).astype("float32"), name=f"field{i:02d}")
                       for i in range(cfg.fields)]
        self.w = tf.Variable(rng.normal(0, 0.05, (cfg.fields * cfg.dim, 1)).astype("float32"), name="wide")
        self.b = tf.Variable(0.0, name="bias")

    def logits(self, ids):
        parts = [tf.gather(t, ids[:, i]) for i, t in enumerate(self.tables)]
        return tf.squeeze(tf.concat(parts, -1) @ self.w, -1) + self.b

    @tf.function
    def learn(self, ids, clicks):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(clicks, self.logits(ids)))
        for v, g in zip(self.variables, tape.gradient(loss, self.variables)):
            if isinstance(g, tf.IndexedSlices):
                v.scatter_sub(tf.IndexedSlices(self.cfg.lr * g.values, g.indices))
            else:
                v.assign_sub(self.cfg.lr * g)
        return loss


class RunLog:
    """One CSV line per step: loss and the length of each parameter."""

    def __init__(self, model):
        self.model = model
        self.buffer = io.StringIO()
        self.buffer.write("step,loss," + ",".join(v.name for v in model.variables) + "\n")

    def lengths(self):
        out = []
        for v in self.model.variables:
            w = v.numpy().ravel()
            out.append(float(np.vdot(w, w)) ** 0.5)
        return out

    def line(self, step, loss):
        cells = [str(step), f"{float(loss):.5f}"] + [f"{x:.4f}" for x in self.lengths()]
        self.buffer.write(",".join(cells) + "\n")


def impressions(cfg):
    rng = np.random.default_rng(1)
    ids = (rng.pareto(1.2, (cfg.batch * 40, cfg.fields)) * 50).astype("int64") % cfg.rows
    clicks = (rng.random(cfg.batch * 40) < 0.2 + 0.3 * (ids[:, 0] % 2)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((ids, clicks)).batch(cfg.batch).cache().repeat().take(cfg.steps).prefetch(8)


def train(cfg):
    model = ClickModel(cfg)
    log = RunLog(model)
    began = time.time()
    for step, (ids, clicks) in enumerate(impressions(cfg)):
        loss = model.learn(ids, clicks)
        log.line(step, loss)
        if step % 50 == 0:
            print(f"step {step} loss {float(loss):.4f} elapsed {time.time() - began:.1f}", flush=True)
    print("log size", len(log.buffer.getvalue()), "time", round(time.time() - began, 2))


if __name__ == "__main__":
    train(CFG)
