"""A step takes as long as a file says, and the loop ends when that file is gone.

    paced.py FILE [CUDA_VISIBLE_DEVICES]

`0.02` is slept, as by a program that waits for its GPU; `0.02 busy` is that much CPU time; `0.02 data.bin` is
slept after a look at 200 places of that file.
"""

import functools
import mmap
import os
import random
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


def work(seconds: float, what: str = "") -> None:
    if what == "busy":
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            sum(range(1000))
        return
    if what:
        look_at(what)
    time.sleep(seconds)


@functools.cache
def mapped(path: str) -> mmap.mmap:
    with Path(path).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def look_at(path: str) -> None:
    data = mapped(path)
    for _ in range(200):
        data[random.randrange(len(data))]


batch = tf.ones([8])
while words := pace():
    for _ in range(10):
        train_step(batch)
        work(float(words[0]), *words[1:])
