"""An A/B test as it comes in: two sets of fixes in pairs of blocks, each pair in random order."""

from __future__ import annotations

import numpy as np

from ..stats.blocks import Floats
from ..stats.effect import Effect, ab
from .view import Comparison

#: Pairs that are kept. A growing side is judged by its newest ones.
_KEPT = 200
#: Iterations to skip at the start of a block: caches are cold after the change of arms.
_COLD = 1
#: Iterations that are kept of a block, and that may wait for its end. Its median needs no more.
_MOST_OF_BLOCK, _MOST_OPEN = 4096, 1 << 20
#: The first blocks, one pair: an arm may trace or compile when it first runs.
_WARM_UP = 2


class ABTest:
    def __init__(self, since: int = 0) -> None:
        """`since` is the iteration at which the test begins."""
        self.running = True
        self._since = since
        self._fixes: list[tuple[str, ...]] = [(), ()]
        self._walls: tuple[list[Floats], list[Floats]] = ([], [])
        self._cpus: tuple[list[Floats], list[Floats]] = ([], [])
        self._medians: list[tuple[float, float]] = []
        self._pair: dict[int, tuple[Floats, Floats]] = {}
        self._blocks = 0
        self._open: list[tuple[Floats, Floats]] = []
        self._waiting = 0
        self._arm = 0
        self._effect: Effect | None = None

    def begin_block(self, arm: int, fixes: tuple[str, ...]) -> None:
        """Begin the next block; the one before counts once its pair is complete."""
        self._close()
        if self._blocks % 2 == 0:
            self._pair = {}
        self._blocks += 1
        self._arm = arm
        self._fixes[arm] = fixes

    def add(self, wall: Floats, cpu: Floats) -> None:
        if len(wall) and self._waiting < _MOST_OPEN:
            self._open.append((wall, cpu))
            self._waiting += len(wall)

    def _close(self) -> None:
        if self._open:
            wall, cpu = (np.concatenate(column) for column in zip(*self._open, strict=True))
            cold = _COLD if len(wall) > _COLD else 0
            picked = (
                np.linspace(cold, len(wall) - 1, min(len(wall) - cold, _MOST_OF_BLOCK)).round().astype(int)
            )
            self._pair[self._arm] = wall[picked], cpu[picked]
            if len(self._pair) == 2 and self._blocks > _WARM_UP:
                for one in (0, 1):
                    self._walls[one].append(self._pair[one][0])
                    self._cpus[one].append(self._pair[one][1])
                    del self._walls[one][:-_KEPT], self._cpus[one][:-_KEPT]
                slow, fixed = (float(np.median(self._pair[one][0])) for one in (0, 1))
                self._medians = [*self._medians[1 - _KEPT :], (slow, fixed)]
        self._open = []
        self._waiting = 0

    def recompute(self) -> None:
        self._effect = ab(*self._walls, *self._cpus)

    def result(self) -> Comparison:
        a, b = self._fixes
        pairs = tuple(self._medians)
        return Comparison(a, b, len(pairs), self.running, self._effect, self._since, pairs)
