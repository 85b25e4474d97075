"""The history of tallies, in bounded memory: how counts grew with the steps."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field

from ..agent.protocol.events import Tally

#: Points of a tally's history; when there are more, every second one is dropped.
_POINTS = 64

Key = tuple[str | int, ...]


@dataclass(slots=True)
class Entry:
    """A tally and its history."""

    tally: Tally
    history: list[tuple[int, int, int, int]] = field(default_factory=list)
    """The step, the count, the wall time, and when that was."""

    @property
    def since(self) -> int:
        return self.history[0][0] if self.history else 0

    def late(self, steps: int, middle: int) -> float:
        """Return the share of the count from the second half of the steps or, without steps, from after `middle`."""
        if steps:
            early = self._by(steps // 2)[1]
        else:
            early = max((count for _, count, _, at in self.history if at <= middle), default=0)
        return 1.0 - early / self.tally.count if self.tally.count else 0.0

    def growth(self, steps: int) -> int:
        """Return how much more time it took in the second half of the steps than in the first, in nanoseconds.

        What happened before the steps is in neither half.
        """
        first, middle = self._by(0)[2], self._by(steps // 2)[2]
        return (self.tally.wall - middle) - (middle - first)

    def before(self, at: int) -> int:
        """Return the nanoseconds that it had taken by a time."""
        return max((wall for _, _, wall, then in self.history if then <= at), default=0)

    def _by(self, step: int) -> tuple[int, int, int, int]:
        before = bisect.bisect_right(self.history, (step, math.inf))
        return self.history[before - 1] if before else (0, 0, 0, 0)


class Ledger:
    """The newest tally of each kind and line, with its history."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self._first = self._last = 0

    @property
    def middle(self) -> int:
        """The middle of the time in which tallies arrived."""
        return (self._first + self._last) // 2

    def add(self, tally: Tally, step: int) -> None:
        entry = self.entries.setdefault(tally.key, Entry(tally))
        entry.tally = tally
        entry.history.append((step, tally.count, tally.wall, tally.at))
        self._first, self._last = self._first or tally.at, tally.at
        if len(entry.history) > _POINTS:
            del entry.history[1:-1:2]
