"""The distribution of values: counts in logarithmic buckets, each of which spans ±1 %.

A quantile is off by that much at most, in bounded memory. The range fits nanoseconds given in seconds as well
as bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .blocks import Floats, Ints

#: The ratio of neighbouring buckets (±1 %), and the smallest value that has one: a nanosecond.
_GAMMA = 1.01 / 0.99
_LOG_GAMMA = float(np.log(_GAMMA))
_SMALLEST = 1e-9
_LOG_SMALLEST = float(np.log(_SMALLEST))
BUCKETS = int(np.ceil(np.log(1e16 / _SMALLEST) / _LOG_GAMMA)) + 1


def bucket_of(values: Floats) -> Ints:
    """Return the bucket of each of these positive values."""
    place = ((np.log(values) - _LOG_SMALLEST) / _LOG_GAMMA).astype(np.int64)
    return np.clip(place, 0, BUCKETS - 1)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often which value occurred: `edges` has one more entry than `counts`. Zeros are separate."""

    edges: Floats
    counts: Floats
    zeros: float


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """All values as of one moment: a copy costs microseconds, so every view carries one per quantity."""

    buckets: Floats
    zeros: float
    lo: float
    hi: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Build it from values that are all there at once."""
        positive = values[values > 0.0]
        buckets = np.bincount(bucket_of(positive), minlength=BUCKETS).astype(np.float64)
        ends = (float(values.min()), float(values.max())) if len(values) else (float("inf"), float("-inf"))
        return cls(buckets, float(len(values) - len(positive)), *ends)

    @property
    def count(self) -> float:
        return self.zeros + float(self.buckets.sum())

    def quantile(self, q: float) -> float:
        """Return the value at rank `q` (0 to 1), to within 1 %; NaN if empty."""
        return self.quantiles((q,))[0]

    def quantiles(self, ranks: tuple[float, ...]) -> tuple[float, ...]:
        """Return several quantiles at the cost of one."""
        sums = np.cumsum(self.buckets)
        return tuple(self._at(q, sums) for q in ranks)

    def _at(self, q: float, sums: Floats) -> float:
        weight = self.zeros + float(sums[-1])
        if weight <= 0.0:
            return float("nan")
        if q <= 0.0 or q >= 1.0:
            return self.lo if q <= 0.0 else self.hi
        rank = q * weight - self.zeros
        if rank <= 0.0:
            return max(0.0, self.lo)
        place = min(int(np.searchsorted(sums, rank)), BUCKETS - 1)
        centre = _SMALLEST * _GAMMA**place * 2.0 * _GAMMA / (1.0 + _GAMMA)
        return min(max(centre, self.lo), self.hi)

    def histogram(self, bars: int = 40) -> Histogram:
        """Return at most `bars` bars of equal width on a logarithmic axis."""
        used = np.flatnonzero(self.buckets)
        if not len(used):
            return Histogram(np.zeros(0), np.zeros(0), self.zeros)
        first, last = int(used[0]), int(used[-1])
        step = -(-(last - first + 1) // max(1, bars))
        begin = np.arange(first, last + 1, step)
        counts = np.add.reduceat(self.buckets[: last + 1], begin)
        edges = _SMALLEST * _GAMMA ** np.append(begin, begin[-1] + step).astype(np.float64)
        return Histogram(edges, counts, self.zeros)
