"""Runs every scenario broken and fixed on fresh states and prints the results as JSON, in one process."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import sys
import time
import traceback

import numpy as np

from tfslowtop.catalogue.find import Entry, all_entries
from tfslowtop.scenario import Params

ITERATIONS = 3
#: Sizes at which results can be compared as well, for scenarios that would take most of the time.
SMALLER = {"eager_matmul": {"size": "100"}, "temporaries": {"size": "100000"}}


def plain(value: object) -> object:
    """A result as numbers: arrays and tensors become their sums, so that the JSON stays small."""
    if isinstance(value, (bool, int, float, np.number)):
        return float(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    array = np.asarray(value)
    return [list(array.shape), float(np.abs(array).sum()), float(np.real(array).sum())]


def check(entry: Entry) -> dict:
    scenario = entry.scenario
    spec = importlib.util.spec_from_file_location(f"same_{entry.id}", entry.path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    params = Params(**scenario.values(SMALLER.get(entry.id, {})))
    base, cure = set(scenario.base), set(scenario.base) | set(scenario.cured_by)
    results = {}
    for name, fixes in (("broken", base), ("fixed", cure)):
        state = module.setup(params)
        out = [module.iteration(state, scenario.active(fixes), i) for i in range(ITERATIONS)]
        results[name] = [plain(value) for value in out]
    # On one state, every fix alone and every pair, switched in mid-run.
    ids = [fix.id for fix in scenario.fixes]
    combos = [(), *((id,) for id in ids), *itertools.combinations(ids, 2), tuple(ids), ()]
    state = module.setup(params)
    for i, fixes in enumerate(combos):
        module.iteration(state, scenario.active(fixes), i)
    if hasattr(module, "gauges"):
        results["gauges"] = {k: float(v) for k, v in module.gauges(state).items()}
    return results


def main() -> None:
    results = {}
    with contextlib.redirect_stdout(sys.stderr):
        for entry in all_entries():
            start = time.monotonic()
            try:
                results[entry.id] = check(entry)
            except Exception:
                results[entry.id] = {"error": traceback.format_exc()}
            print(f"{entry.id} {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
