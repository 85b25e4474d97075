"""Intervals of time as two arrays of nanoseconds: their union, and how much of it lies within others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


def outermost(start: Times, end: Times) -> tuple[Times, Times]:
    """Cut intervals, ordered by start, so that none overlap: the first of several keeps the time.

    An interval inside another one becomes empty.
    """
    if not len(start):
        return start, end
    reached = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]))
    cut = np.maximum(start, reached)
    return cut, np.maximum(end, cut)


class Cover:
    """A union of intervals."""

    def __init__(self, start: Times, end: Times) -> None:
        order = np.argsort(start, kind="stable")
        self._start, self._end = outermost(start[order], end[order])
        self._sums = np.concatenate(([0], np.cumsum(self._end - self._start)))

    def before(self, at: Times) -> Times:
        """Return how much of the union lies before each of these times."""
        number = np.searchsorted(self._start, at, "right")
        if not len(self._start):
            return np.zeros(len(at), np.int64)
        last = np.maximum(number - 1, 0)
        inside = np.minimum(at, self._end[last]) - self._start[last]
        return np.where(number > 0, self._sums[last] + inside, 0)

    def within(self, start: Times, end: Times) -> Times:
        """Return how much of the union lies within each of these intervals."""
        return self.before(end) - self.before(start)

    @property
    def length(self) -> int:
        return int(self._sums[-1])
