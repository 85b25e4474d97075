"""A Session per iteration, never closed: memory leaks while it is referenced, time does not rise."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Sessions left open",
    kind="leaks",
    claim="Sessions that are not closed hold resources and slow down what comes after them.",
    source="001, bullet 4 and example 3",
    mechanism=(
        "Opening a session has a price, the same at every iteration however many were left open before. "
        "Memory is another matter: it grows for as long as something refers to the open sessions, and "
        "letting go of them is as good as closing them. "
        "One session for the whole loop saves both the price and the memory."
    ),
    example=(
        "Runs as written. It leaves a single session open, which costs nothing that shows, and its second "
        "run is the faster one."
    ),
    params=(
        Param("size", 256, "rows and columns of the product that each session runs", minimum=1, gpu=4000),
    ),
    fixes=(
        Fix("close", "close each session after its run (with Session() as session)"),
        Fix("drop", "leave it open, but keep no reference to it"),
        Fix("one_session", "open one session before the loop"),
    ),
    cure=("close",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    values = np.random.default_rng(7).random((params.size, params.size), np.float32)
    with tf.Graph().as_default() as graph:
        fed = tf.compat.v1.placeholder(tf.float32, values.shape)
        total = tf.reduce_sum(tf.matmul(fed, fed))
    return SimpleNamespace(
        graph=graph,
        feed={fed: values},
        total=total,
        session=tf.compat.v1.Session(graph=graph),
        left_open=[],
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.one_session:
        result = s.session.run(s.total, s.feed)
    elif fixes.close:
        with tf.compat.v1.Session(graph=s.graph) as session:
            result = session.run(s.total, s.feed)
    elif fixes.drop:
        session = tf.compat.v1.Session(graph=s.graph)
        result = session.run(s.total, s.feed)
    else:
        session = tf.compat.v1.Session(graph=s.graph)
        result = session.run(s.total, s.feed)
        s.left_open.append(session)
    return float(result)


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"sessions left open": len(s.left_open)}
