"""Variable.assign from a NumPy array: the array is converted and copied at every call."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Variable.assign from a NumPy array",
    kind="constant penalty",
    claim="Assigning new values to a variable makes what follows slower.",
    source="001, example 2",
    mechanism=(
        "A NumPy array is converted to the variable's type and copied into a new tensor at each "
        "assignment, and float64 costs more than float32. "
        "A float32 tensor is neither converted nor copied: the variable shares its memory. "
        "So the fix moves the conversion out of the loop, which is possible when the values are known "
        "before; an array made anew at each step has to be converted somewhere."
    ),
    example=(
        "Runs as written, but its clock starts after the assignment: it times the product before and "
        "after, and leaves out the conversion, which is what an assignment costs."
    ),
    params=(Param("size", 1_000_000, "numbers in the variable", minimum=1, gpu=50_000_000),),
    fixes=(
        Fix("float32_array", "keep the arrays in float32, the variable's own type", half=True),
        Fix("tensor", "convert the arrays to float32 tensors once, before the loop"),
    ),
    cure=("tensor",),
)


def setup(params: Params) -> SimpleNamespace:
    arrays = np.random.default_rng(7).random((4, params.size))
    arrays32 = arrays.astype(np.float32)
    return SimpleNamespace(
        arrays=arrays,
        arrays32=arrays32,
        tensors=[tf.constant(array) for array in arrays32],
        variable=tf.Variable(tf.zeros([params.size])),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.tensor:
        s.variable.assign(s.tensors[i % 4])
    elif fixes.float32_array:
        s.variable.assign(s.arrays32[i % 4])
    else:
        s.variable.assign(s.arrays[i % 4])
    return float(s.variable[i % 100])
