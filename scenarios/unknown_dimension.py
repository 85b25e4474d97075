"""A placeholder with an unknown dimension, fed with changing sizes: no effect on a CPU."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A placeholder of unknown size",
    kind="myth",
    claim="Feeding changing sizes into an unknown dimension fragments memory and slows later runs.",
    source="001, bullet 1 and example 1",
    mechanism=(
        "The graph is built once, and its kernels take whatever size arrives. "
        "On this CPU a run costs the same as with a placeholder made for exactly that size, and it does not "
        "rise. "
        "What an unknown dimension does to the memory of a GPU needs a GPU and was not measured."
    ),
    example=(
        "Fails on TensorFlow 2 as written: tf.placeholder is gone, and with its compat.v1 name the feed "
        "fails, because a feed cannot be a tensor. Its second run has twice the rows, so it times more work."
    ),
    params=(
        Param("width", 500, "columns", minimum=1, gpu=4000),
        Param("sizes", 16, "different numbers of rows that take turns", minimum=1),
    ),
    fixes=(
        Fix("known_shape", "a placeholder of the exact shape for each size"),
        Fix("pad", "pad every input to the largest size: one shape, more work", half=True),
    ),
    cure=("known_shape",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    generator = np.random.default_rng(7)
    rows = np.linspace(200, 400, params.sizes).astype(int)
    inputs = [generator.random((n, params.width), np.float32) for n in generator.permutation(rows)]
    weights = generator.random((params.width, params.width), np.float32)
    placeholder = tf.compat.v1.placeholder
    with tf.Graph().as_default() as graph:
        b = tf.constant(weights)
        unknown = placeholder(tf.float32, [None, params.width])
        known = {len(a): placeholder(tf.float32, a.shape) for a in inputs}
        total = tf.reduce_sum(tf.matmul(unknown, b))
        known_total = {n: tf.reduce_sum(tf.matmul(a, b)) for n, a in known.items()}
    session = tf.compat.v1.Session(graph=graph)
    for n, a in known.items():  # the first run of each compiles it: here, so that the curve shows the rest
        session.run(known_total[n], {a: np.zeros(a.shape, np.float32)})
    return SimpleNamespace(
        inputs=inputs,
        largest=max(known),
        unknown=unknown,
        total=total,
        known=known,
        known_total=known_total,
        session=session,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    a = s.inputs[i % len(s.inputs)]
    if fixes.pad:
        a = np.pad(a, [(0, s.largest - len(a)), (0, 0)])
    if fixes.known_shape:
        return float(s.session.run(s.known_total[len(a)], {s.known[len(a)]: a}))
    return float(s.session.run(s.total, {s.unknown: a}))
