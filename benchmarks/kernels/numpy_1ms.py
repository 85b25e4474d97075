"""A millisecond of NumPy, in one thread."""

import numpy as np

from tfslowtop.scenario import Fixes, Params, Scenario

SCENARIO = Scenario(title="NumPy", kind="myth", claim="-", mechanism="-")


def setup(params: Params) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(4096), np.empty(4096)


def iteration(s: tuple[np.ndarray, np.ndarray], fixes: Fixes, i: int) -> None:
    x, y = s
    for _ in range(16):
        np.tanh(x, out=y)
