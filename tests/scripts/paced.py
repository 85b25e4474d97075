"""A step takes as long as a file says, and the loop ends when that file is gone.

    paced.py FILE [CUDA_VISIBLE_DEVICES]

`0.02` is slept, as by a program that waits for its GPU; `0.02 busy` is that much CPU time.
"""

import os
import sys
import time
from pathlib import Path

if len(sys.argv) > 2:
    os.environ["CUDA_VISIBLE_DEVICES"] = sys.argv[2]

import tensorflow as tf

weights = tf.Variable(tf.ones([8]))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(weights * x))
    weights.assign_sub(1e-3 * tape.gradient(loss, weights))
    return loss


def pace() -> list[str]:
    try:
        return Path(sys.argv[1]).read_text().split()
    except OSError:
        return []


def work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


batch = tf.ones([8])
while words := pace():
    for _ in range(10):
        train_step(batch)
        (work if words[1:] else time.sleep)(float(words[0]))
