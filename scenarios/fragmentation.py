"""Blocks of random sizes with random survivors: what would fragment a heap. The curve stays flat."""

from types import SimpleNamespace

import numpy as np

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Arrays of random sizes, random survivors",
    kind="myth",
    claim="A heap that fragments makes each allocation slower than the one before.",
    source="000, section 1",
    mechanism=(
        "Arrays of very different sizes are freed in random order, so the heap is full of holes of all "
        "sizes. "
        "The allocator still finds room in the same time: an iteration costs no more at the end of a "
        "run than at its start. "
        "Blocks that are kept and written again are not faster here."
    ),
    example=(
        "None: the article's first example allocates blocks of one size only, which cannot fragment a "
        "heap (see large_arrays)."
    ),
    params=(
        Param("survivors", 1000, "arrays that are alive at any time", minimum=1, gpu=4000),
        Param("replaced", 500, "random ones of them replaced per iteration", minimum=1),
        Param("largest", 8000, "numbers in the largest array", minimum=2),
    ),
    fixes=(Fix("reuse_blocks", "write into kept blocks of the largest size (a pool)"),),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    generator = np.random.default_rng(7)
    # Many small arrays and some large ones, as in real programs: the sizes are even on a logarithmic scale.
    sizes = (params.largest ** generator.random(params.survivors)).astype(int)
    return SimpleNamespace(
        generator=generator,
        replaced=params.replaced,
        largest=params.largest,
        alive=[np.ones(size) for size in sizes],
        pool=[np.ones(params.largest) for _ in sizes],
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    sizes = (s.largest ** s.generator.random(s.replaced)).astype(int)
    places = s.generator.integers(0, len(s.alive), s.replaced)
    total = 0.0
    for size, place in zip(sizes.tolist(), places.tolist(), strict=True):
        array = s.pool[place][:size] if fixes.reuse_blocks else np.empty(size)
        array.fill(place)
        s.alive[place] = array
        total += float(array[-1])
    return total
