"""A chain of elementwise ops: eager, as a graph, and fused by XLA. Changed data does not disturb it."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Fused ops: eager, tf.function, XLA",
    kind="constant penalty",
    claim="Ops that are not fused run slower, and changed input undoes the fusion.",
    source="001, bullet 3",
    mechanism=(
        "Eager ops run one after another, each over the whole array; tf.function gets part of the way. "
        "XLA compiles the chain into one loop, which its optimised program shows as a single fusion. "
        "Other data of the same shape changes nothing: no new trace, and the time is that of unchanged data."
    ),
    example=(
        "None: prose only. The article's second example changes its data, but runs a single op, which "
        "leaves nothing to fuse."
    ),
    params=(
        Param("ops", 30, "elementwise operations in the chain", minimum=1),
        Param("size", 500_000, "numbers in the array", minimum=1, gpu=50_000_000),
    ),
    fixes=(
        Fix("tf_function", "wrap the chain in tf.function", half=True),
        Fix("xla", "tf.function(jit_compile=True): XLA makes one loop of the chain"),
        Fix("same_data", "the same input at every iteration", half=True),
    ),
    cure=("xla",),
)


def setup(params: Params) -> SimpleNamespace:
    def chain(x: tf.Tensor) -> tf.Tensor:
        for _ in range(params.ops // 2):
            x = x * 0.9
            x = x + 0.1
        return tf.reduce_mean(x)

    s = SimpleNamespace(
        inputs=[tf.random.stateless_uniform([params.size], [7, n]) for n in range(4)],
        chain=chain,
        traced=tf.function(chain),
        compiled=tf.function(chain, jit_compile=True),
    )
    s.traced(s.inputs[0])  # traced and compiled here, so that the curve shows the steady state
    s.compiled(s.inputs[0])
    return s


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    x = s.inputs[0] if fixes.same_data else s.inputs[i % len(s.inputs)]
    if fixes.xla:
        return float(s.compiled(x))
    if fixes.tf_function:
        return float(s.traced(x))
    return float(s.chain(x))
