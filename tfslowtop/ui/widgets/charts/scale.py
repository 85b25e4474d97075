"""Upper bounds of curves: round numbers that rise at once and fall slowly."""

from __future__ import annotations

import math

_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
TINY, HUGE = 1e-300, 1e300


def nice_ceiling(value: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 × 10ⁿ that is not below `value`."""
    value = min(max(value, TINY), HUGE)
    base = 10.0 ** math.floor(math.log10(value))
    return next((n * base for n in _NICE if value <= n * base * (1 + 1e-9)), 10.0 * base)


def _bound(peak: float) -> float:
    """Return the round number nearest to 1.25 × `peak` that leaves a little room above it."""
    roomy, tight = nice_ceiling(1.25 * peak), nice_ceiling(1.06 * peak)
    return tight if 1.25 * peak / tight < roomy / (1.25 * peak) else roomy


class StickyScale:
    """An upper bound that rises at once and falls slowly, so that a chart does not jump.

    It rises only when the values have used up the head room, and falls only to at most 3/4 of itself, after
    `hold` seconds in which that would have sufficed for values 15 % larger.
    """

    def __init__(self, floor: float = 0.0, hold: float = 1.0) -> None:
        self._floor = floor
        self._hold = hold
        self._upper: float | None = None
        self._low_since: float | None = None

    @property
    def floor(self) -> float:
        """The bound never falls below this."""
        return self._floor

    def update(self, peak: float, now: float) -> float:
        """Return the bound for a window whose largest value is `peak`, at `now` (seconds)."""
        if not (math.isfinite(peak) and peak > 0):
            # Nothing to go by: keep it, so that a gap in the data does not move the chart.
            return self._upper or self._floor or 1.0
        lower = max(_bound(1.15 * peak), self._floor)
        if self._upper is None or peak > 0.95 * self._upper:
            self._upper, self._low_since = max(_bound(peak), self._floor), None
        elif lower > 0.75 * self._upper:
            self._low_since = None
        elif self._low_since is None:
            self._low_since = now
        elif abs(now - self._low_since) >= self._hold:  # abs: a replay may step back
            self._upper, self._low_since = lower, None
        return self._upper


class FixedScale(StickyScale):
    """For quantities with a natural bound, such as per cent: `floor` is the ceiling, too."""

    def update(self, peak: float, now: float) -> float:
        return self._floor or 1.0
