"""A Python loop over the elements of an array: dear, but no dearer with time."""

from types import SimpleNamespace

import numpy as np

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A Python loop over array elements",
    kind="constant penalty",
    claim="The interpreter's overhead accumulates over many calls, so later calls are slower.",
    source="000, section 3",
    mechanism=(
        "Taking an element out of a NumPy array makes a new Python object, and each operation on it goes "
        "through the interpreter. "
        "That costs a fixed price per element, far above the price of the arithmetic. "
        "Nothing accumulates: the thousandth iteration costs what the first did."
    ),
    example="None: the article says it in prose and measures nothing.",
    params=(Param("size", 20_000, "elements in the array", minimum=1, gpu=200_000),),
    fixes=(
        Fix("as_list", "loop over array.tolist(): plain floats instead of NumPy scalars", half=True),
        Fix("vectorise", "let NumPy do the loop: (array * array).sum()"),
    ),
    cure=("vectorise",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    return SimpleNamespace(array=np.random.default_rng(7).random(params.size))


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.vectorise:
        total = (s.array * s.array).sum()
    elif fixes.as_list:
        total = 0.0
        for value in s.array.tolist():
            total += value * value
    else:
        total = 0.0
        for value in s.array:
            total += value * value
    return float(total)
