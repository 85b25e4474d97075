"""Constants and a Session in the loop: the default graph grows, and so does every iteration."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Default graph grows in the loop",
    kind="grows",
    claim="Building ops and opening a Session in every iteration makes the loop slower and slower.",
    source="002, section 1 and examples 1 and 2",
    mechanism=(
        "In graph mode each tf.constant and tf.add adds an op to the default graph, and nothing removes it. "
        "Each new result has to be run for the first time, and that first run takes longer the larger the "
        "graph is. "
        "So the cost of an iteration follows the number of ops that all iterations before it left behind."
    ),
    example=(
        "Fails on TensorFlow 2 as written: eager ops leave the Session's graph empty. It runs, and climbs, "
        "once eager execution is disabled."
    ),
    params=(Param("adds", 3, "additions built per iteration", minimum=1),),
    fixes=(
        Fix("hoist_graph", "build the graph once, before the loop, and feed a placeholder"),
        Fix("hoist_session", "open one Session before the loop", half=True),
        Fix("fresh_graph", "build into a new tf.Graph in each iteration (stops the growth)", half=True),
    ),
    cure=("hoist_graph", "hoist_session"),
)


def setup(params: Params) -> SimpleNamespace:
    growing, built_once = tf.Graph(), tf.Graph()
    with built_once.as_default():
        value = tf.compat.v1.placeholder(tf.int32, [1])
        total = value
        for _ in range(params.adds):
            total = tf.add(total, value)
    return SimpleNamespace(
        adds=params.adds,
        growing=growing,
        built_once=built_once,
        value=value,
        total=total,
        sessions={graph: tf.compat.v1.Session(graph=graph) for graph in (growing, built_once)},
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> int:
    if fixes.hoist_graph:
        graph, total, feed = s.built_once, s.total, {s.value: [i]}
    else:
        graph, feed = tf.Graph() if fixes.fresh_graph else s.growing, {}
        with graph.as_default():
            value = tf.constant([i])
            total = value
            for _ in range(s.adds):
                total = tf.add(total, value)
    if fixes.hoist_session and (
        fixes.hoist_graph or not fixes.fresh_graph
    ):  # a Session runs only its own graph
        result = s.sessions[graph].run(total, feed)
    else:
        with tf.compat.v1.Session(graph=graph) as session:
            result = session.run(total, feed)
    return int(result[0])


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"graph ops": s.growing.version}
