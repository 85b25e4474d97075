"""A large NumPy array allocated at every iteration: said to fragment the heap and slow down. It does not."""

import ctypes
import resource
from types import SimpleNamespace

import numpy as np

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A large array made in every iteration",
    kind="myth",
    claim="Allocating a large array in each iteration fragments the heap, so iterations get slower.",
    source="000, section 1 and example 1",
    mechanism=(
        "The array is freed before the next one is made, and the allocator hands the same block out again: "
        "the curve is flat. "
        "What costs time here is drawing the numbers with NumPy's legacy generator. "
        "The newer Generator draws them faster, with or without a new array."
    ),
    example="Runs as written. Its ten iterations mostly time np.random.rand, not the allocation.",
    params=(
        Param("size", 1000, "rows and columns of the array", minimum=1, gpu=4000),
        Param("allocator", "default", "mmap: freed blocks go back to the system", ("default", "mmap")),
    ),
    fixes=(
        Fix("new_generator", "draw with numpy.random.default_rng instead of the legacy generator"),
        Fix("reuse_array", "draw into one array that is kept (out=, which the new generator has)"),
    ),
    base=("new_generator",),
    cure=("reuse_array",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


M_MMAP_THRESHOLD = -3  # from glibc's malloc.h


def setup(params: Params) -> SimpleNamespace:
    if params.allocator == "mmap":
        # Every block above 128 KB is mapped anew and its pages fault in again: now the allocation does cost,
        # the same in every iteration. It holds for the whole process.
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 128 * 1024)
    shape = (params.size, params.size)
    return SimpleNamespace(
        shape=shape,
        array=np.empty(shape),
        legacy=np.random.RandomState(7),
        generator=np.random.default_rng(7),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.reuse_array:
        array = s.generator.random(out=s.array)
    elif fixes.new_generator:
        array = s.generator.random(s.shape)
    else:
        array = s.legacy.random_sample(s.shape)
    return float(array.sum())


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"page faults": resource.getrusage(resource.RUSAGE_SELF).ru_minflt}
