"""All six curves move: latency, memory, retraces, and three gauges of its own."""

import math
from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fixes, Params, Scenario

SCENARIO = Scenario(title="six panels", kind="myth", claim="-", mechanism="-")


def setup(params: Params) -> SimpleNamespace:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    @tf.function
    def step(x: tf.Tensor, number: int) -> tf.Tensor:
        for _ in range(20):
            x = tf.tanh(x) * (1.01 + number)
        return x

    return SimpleNamespace(step=step, x=tf.ones([16384]), kept=[], i=0)


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> None:
    s.i = i
    s.step(s.x, i // 400)  # a new Python number now and then: a retrace
    s.kept.append(bytes(2000))


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"results kept": len(s.kept), "wave": 2 + math.sin(s.i / 500), "saw": s.i % 3000}
