"""A history kept with np.append: every step copies all the steps before it."""

from types import SimpleNamespace

import numpy as np

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="History kept with np.append",
    kind="grows",
    claim="Arrays allocated again and again make a NumPy loop slower with every iteration.",
    source="000, section 1 (its claim in the form that is true)",
    mechanism=(
        "np.append makes a new array and copies the whole history into it, for every step. "
        "So an iteration costs as much as all the steps recorded before it. "
        "A list, or an array with room to spare, writes only the new step."
    ),
    example=(
        "None: the article's first example allocates anew but keeps nothing, so nothing grows (see "
        "large_arrays)."
    ),
    params=(
        Param("units", 1000, "units of the small simulation whose state is recorded", minimum=1),
        Param("record", 400, "numbers recorded per iteration", minimum=1, gpu=2000),
        Param("steps", 50_000, "iterations after which a new history begins", minimum=1),
    ),
    fixes=(
        Fix("keep_list", "append each step to a list (np.concatenate once, after the loop)"),
        Fix("preallocate", "write into an array with room to spare, doubled when it is full"),
    ),
    cure=("preallocate",),
    # Without huge pages, which NumPy asks for from 4 MB on: there the curve would step down and start again.
    env={"OPENBLAS_NUM_THREADS": "1", "NUMPY_MADVISE_HUGEPAGE": "0"},
)


def setup(params: Params) -> SimpleNamespace:
    generator = np.random.default_rng(7)
    s = SimpleNamespace(
        weights=generator.normal(0, 1.5 / np.sqrt(params.units), (params.units, params.units)),
        x=generator.random(params.units),
        record=params.record,
        steps=params.steps,
    )
    begin(s)
    return s


def begin(s: SimpleNamespace) -> None:
    # Each way of keeping the history has its own, so that switching back and forth needs no conversion.
    s.history = np.empty(0)
    s.parts = []
    s.buffer, s.used = np.empty(100_000), 0


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if i % s.steps == 0:
        begin(s)
    s.x = np.tanh(s.weights @ s.x)
    new = np.resize(s.x, s.record)
    if fixes.preallocate:
        if s.used + new.size > s.buffer.size:
            s.buffer = np.concatenate([s.buffer, np.empty(s.buffer.size + new.size)])
        s.buffer[s.used : s.used + new.size] = new
        s.used += new.size
        last = s.buffer[s.used - 1]
    elif fixes.keep_list:
        s.parts.append(new)
        last = s.parts[-1][-1]
    else:
        s.history = np.append(s.history, new)
        last = s.history[-1]
    return float(last)


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"numbers recorded": s.history.size + len(s.parts) * s.record + s.used}
