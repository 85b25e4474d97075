"""Large temporaries in an expression, against the same expression written into arrays that are kept."""

import resource
from types import SimpleNamespace

import numpy as np

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Large temporaries in an expression",
    kind="constant penalty",
    claim="Large intermediate arrays, made and thrown away in each iteration, slow it more and more.",
    source="000, section 1",
    mechanism=(
        "Each intermediate result is a new array, and one of this size comes from the system with pages that "
        "fault in when they are first written. "
        "Writing into arrays that are kept (out=) takes the faults away, and working in blocks leaves one "
        "large new array instead of two. "
        "The price is the same in every iteration: it does not rise."
    ),
    example=("None: prose only. The article's first example makes one array and no temporaries."),
    params=(
        Param("size", 5_000_000, "numbers in each array: 40 MB", minimum=1, gpu=50_000_000),
        Param("block", 16_384, "numbers in a block that fits the cache", minimum=1),
    ),
    fixes=(
        Fix("use_out", "write every step into an array that is kept (out=)"),
        Fix("in_blocks", "run the expression block by block, each small enough for the cache"),
    ),
    cure=("use_out",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    generator = np.random.default_rng(7)
    size = params.size
    return SimpleNamespace(
        a=generator.random(size),
        b=generator.random(size),
        difference=np.zeros(size),
        total=np.zeros(size),
        blocks=[slice(start, start + params.block) for start in range(0, size, params.block)],
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> np.ndarray:
    if fixes.in_blocks and fixes.use_out:
        result = s.difference
        for block in s.blocks:
            a, b, difference, total = s.a[block], s.b[block], s.difference[block], s.total[block]
            np.subtract(a, b, out=difference)
            np.add(a, b, out=total)
            np.multiply(difference, total, out=difference)
    elif fixes.in_blocks:
        result = np.empty_like(s.a)
        for block in s.blocks:
            a, b = s.a[block], s.b[block]
            result[block] = (a - b) * (a + b)
    elif fixes.use_out:
        np.subtract(s.a, s.b, out=s.difference)
        np.add(s.a, s.b, out=s.total)
        result = np.multiply(s.difference, s.total, out=s.difference)
    else:
        result = (s.a - s.b) * (s.a + s.b)
    return result[i % 1000 :: 1000].copy()


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"page faults": resource.getrusage(resource.RUSAGE_SELF).ru_minflt}
