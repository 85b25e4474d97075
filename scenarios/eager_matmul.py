"""An eager matmul in a loop: said to rebuild a graph at every call. It builds none."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Eager matmul 'rebuilds its graph'",
    kind="myth",
    claim="Eager execution rebuilds a graph at each call, so the loop gets slower and slower.",
    source="000, section 2 and examples 2 and 3",
    mechanism=(
        "Eager ops run one by one and no graph grows: the curve is flat. "
        "The article's fast version wins because it draws its random numbers once, before the loop. "
        "A graph also folds the transpose into the product, which transpose_b does by hand; after that a "
        "Session is no faster."
    ),
    example=(
        "Both run as written. The eager one times the random generator along with the product; the Session "
        "one draws its data before the loop, and that is nearly all of the difference."
    ),
    params=(Param("size", 1000, "rows and columns of the matrix", minimum=1, gpu=8000),),
    fixes=(
        Fix("hoist_data", "draw the matrix once, before the loop"),
        Fix("session", "build the graph once and run it in a compat.v1 Session"),
        Fix("tf_function", "wrap the computation in tf.function"),
        Fix("transpose_b", "tf.matmul(x, x, transpose_b=True) instead of tf.transpose"),
    ),
    base=("hoist_data", "transpose_b"),
    cure=("session",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def total(x: tf.Tensor, transpose_b: bool) -> tf.Tensor:
    y = tf.matmul(x, x, transpose_b=True) if transpose_b else tf.matmul(x, tf.transpose(x))
    return tf.reduce_sum(y)


def setup(params: Params) -> SimpleNamespace:
    shape = (params.size, params.size)
    graph = tf.Graph()
    with graph.as_default():
        fed = tf.compat.v1.placeholder(tf.float32, shape)
        totals = {transpose_b: total(fed, transpose_b) for transpose_b in (False, True)}
    return SimpleNamespace(
        shape=shape,
        x=tf.random.stateless_normal(shape, [7, 7]),
        fed=fed,
        totals=totals,
        session=tf.compat.v1.Session(graph=graph),
        traced=tf.function(total),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    x = s.x if fixes.hoist_data else tf.random.normal(s.shape)
    if fixes.session:
        return float(s.session.run(s.totals[fixes.transpose_b], {s.fed: x.numpy()}))
    if fixes.tf_function:
        return float(s.traced(x, fixes.transpose_b))
    return float(total(x, fixes.transpose_b))
