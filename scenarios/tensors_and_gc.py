"""New tensors in every iteration: said to burden the garbage collector more and more. They do not."""

import gc
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="New tensors in every iteration",
    kind="myth",
    claim="Tensors created in each iteration pile up and burden the garbage collector.",
    source="002, section 1 (prose)",
    mechanism=(
        "A tensor is freed the moment its last reference goes, by reference count; the collector has "
        "nothing to do with it. "
        "The curve and the memory stay flat, and switching the collector off changes nothing. "
        "Making the constant tensors once, before the loop, saves the time of making them, the same in each "
        "iteration."
    ),
    example=(
        "None of its own. The first example does make constants in each iteration, but in graph mode, "
        "where they stay in the graph (see graph_growth)."
    ),
    params=(
        Param("tensors", 20, "constant tensors made per iteration", minimum=1, gpu=50),
        Param("size", 100, "rows and columns of each", minimum=1, gpu=1000),
    ),
    fixes=(
        Fix("collector_off", "switch Python's garbage collector off (gc.disable)", half=True),
        Fix("hoist", "make the constant tensors once, before the loop"),
    ),
    cure=("collector_off",),
)


def setup(params: Params) -> SimpleNamespace:
    arrays = np.random.default_rng(7).random((params.tensors, params.size, params.size), dtype=np.float32)
    return SimpleNamespace(arrays=arrays, kept=[tf.constant(array) for array in arrays])


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.collector_off:
        gc.disable()
    else:
        gc.enable()
    tensors = s.kept if fixes.hoist else [tf.constant(array) for array in s.arrays]
    total = tf.constant(float(i))
    for tensor in tensors:
        total = total + tf.reduce_sum(tensor * 2.0)
    return float(total)


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"collector runs": sum(generation["collections"] for generation in gc.get_stats())}
