"""An A/B run as it comes in: two sets of fixes in shuffled blocks."""

from __future__ import annotations

import numpy as np

from .blocks import Floats
from .effect import Effect, ab
from .view import Comparison

#: Blocks per side that are kept. A growing side is judged by its newest ones.
_KEPT = 200
#: Of each block, what the change of arms itself costs: caches are cold.
_COLD = 1


class Duel:
    def __init__(self) -> None:
        self.running = True
        self._fixes: list[tuple[str, ...]] = [(), ()]
        self._walls: tuple[list[Floats], list[Floats]] = ([], [])
        self._cpus: tuple[list[Floats], list[Floats]] = ([], [])
        self._open: list[tuple[Floats, Floats]] = []
        self._arm = 0
        self._effect: Effect | None = None

    def turn(self, arm: int, fixes: tuple[str, ...]) -> None:
        """The next block begins; the last one counts."""
        self._close()
        self._arm = arm
        self._fixes[arm] = fixes

    def add(self, wall: Floats, cpu: Floats) -> None:
        if len(wall):
            self._open.append((wall, cpu))

    def _close(self) -> None:
        if self._open:
            wall = np.concatenate([w for w, _ in self._open])[_COLD:]
            cpu = np.concatenate([c for _, c in self._open])[_COLD:]
            if len(wall):
                self._walls[self._arm].append(wall)
                self._cpus[self._arm].append(cpu)
                del self._walls[self._arm][:-_KEPT], self._cpus[self._arm][:-_KEPT]
        self._open = []

    def think(self) -> None:
        self._effect = ab(*self._walls, *self._cpus)

    def result(self) -> Comparison:
        blocks = min(len(side) for side in self._walls)
        return Comparison(self._fixes[0], self._fixes[1], blocks, self.running, self._effect)
