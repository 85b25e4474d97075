"""A robust line through block medians, its certainty, and a cautious verdict.

The slope is Theil–Sen on block medians: up to 29 % of the blocks may be disturbed. Its interval is Sen's
(normal approximation to Kendall's S), widened for the lag-1 autocorrelation of the residuals, because
neighbouring blocks are not independent. A false "rising" sends people hunting for nothing, so that verdict
needs more than an interval; whatever is not proven is called unclear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from .blocks import Floats, Ints

Direction: TypeAlias = Literal["rising", "flat", "falling", "unclear"]

#: How much wider than a change that matters the interval of something flat may be: on a shared machine it is
#: never narrower.
FLAT_ROOM = 2.0
#: Or, for thousands of iterations that drift with the machine: half a percent per 100 iterations.
FLAT_RATE = 0.005 / 100
#: Each half must rise by this share of the whole slope: one jump is not a rise.
HALF_SHARE = 0.15
#: And so must each side of the largest jump, by more, where it has enough blocks.
SIDE_SHARE, LEAST_SIDE = 0.4, 12
_Z = 1.96
#: The highest autocorrelation that widens an interval: beyond it the interval would be endless.
_RHO_LIMIT = 0.97

ONE_STEP = "it changed in one step, not steadily"
UNSTEADY = "it moves, but not steadily"
NOISY = "the noise is larger than any trend"


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through block values, and its certainty."""

    slope: float
    low: float
    high: float
    level: float
    span: float
    steady: bool
    jump: bool

    def change(self, slope: float) -> float:
        """Return what a slope amounts to over the whole span."""
        return slope * self.span

    @property
    def room(self) -> float:
        """Return the largest change that the interval leaves room for, as a share of the level."""
        return self.change(max(abs(self.low), abs(self.high))) / self.level if self.level else np.inf


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[Ints, Ints]:
    one, two = np.triu_indices(n, 1)
    return one, two


def _slopes(x: Floats, y: Floats) -> Floats:
    one, two = _pairs(len(x))
    run = x[two] - x[one]
    apart = run > 0
    slopes: Floats = (y[two] - y[one])[apart] / run[apart]
    return slopes


def middle_slope(x: Floats, y: Floats) -> float:
    slopes = _slopes(x, y)
    return float(np.median(slopes)) if len(slopes) else 0.0


def _ranks(values: Floats) -> Floats:
    """Return centred ranks; equal values share theirs, or a plateau would look like a slope."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    ranks -= ranks.mean()
    return ranks


def _autocorrelation(residuals: Floats) -> float:
    """Return the lag-1 autocorrelation of the ranks, corrected for its bias after a fitted line, on the safe
    side."""
    r = _ranks(residuals)
    n, energy = len(r), float(r @ r)
    if energy == 0.0:
        return 0.0
    rho = float(r[1:] @ r[:-1]) / energy
    rho = max(-1.0, min(1.0, (n * rho + 2.0) / max(1.0, n - 4.0)))
    # One standard error on top: an estimate that is too small makes noise look like a trend.
    return float(np.clip(rho + np.sqrt((1.0 - rho * rho) / n), 0.0, _RHO_LIMIT))


def _shape(x: Floats, y: Floats) -> tuple[float, float, int]:
    """Return how much of the ranks a line explains, how much a single jump, and where that jump would be."""
    r, run = _ranks(y), x - x.mean()
    n, energy = len(r), float(r @ r)
    if energy == 0.0:
        return 0.0, 0.0, 0
    line = float(run @ r) ** 2 / float(run @ run)
    left = np.arange(1, n)
    steps = np.cumsum(r)[:-1] ** 2 * n / (left * (n - left))
    best = int(np.argmax(steps))
    return line / energy, float(steps[best]) / energy, best + 1


def fit(x: Floats, y: Floats) -> Fit:
    """Fit Theil–Sen through at most a few hundred points, in order of `x`."""
    n, slopes = len(x), np.sort(_slopes(x, y))
    span, level = float(x[-1] - x[0]), float(np.median(y))
    if not len(slopes):
        return Fit(0.0, -np.inf, np.inf, level, span, False, False)
    slope = float(np.median(slopes))
    rho = _autocorrelation(y - slope * x)
    spread = _Z * np.sqrt(n * (n - 1) * (2 * n + 5) / 18.0 * (1.0 + rho) / (1.0 - rho))
    # The spread counts pairs; where equal x leave fewer pairs, it shrinks with them.
    spread *= len(slopes) / (n * (n - 1) / 2)
    lower, upper = int((len(slopes) - spread) / 2), int(np.ceil((len(slopes) + spread) / 2))
    low = float(slopes[lower]) if spread < len(slopes) else -np.inf
    high = float(slopes[min(upper, len(slopes) - 1)]) if spread < len(slopes) else np.inf
    half = n // 2
    halves = [middle_slope(x[:half], y[:half]), middle_slope(x[half:], y[half:])]
    steady = all(h * np.sign(slope) >= HALF_SHARE * abs(slope) for h in halves)
    by_line, by_jump, at = _shape(x, y)
    jumps = by_jump > by_line
    if jumps and min(at, n - at) >= LEAST_SIDE:
        # If both sides of the jump move as well, something else only disturbed it on the way.
        sides = [middle_slope(x[:at], y[:at]), middle_slope(x[at:], y[at:])]
        jumps = not all(s * np.sign(slope) >= SIDE_SHARE * abs(slope) for s in sides)
    return Fit(slope, low, high, level, span, steady and not jumps, jumps and by_jump > 0.5)


def warm_up(y: Floats) -> int:
    """Choose how many values to drop at the start, at most half, by MSER: the rule that makes the mean
    surest.

    Dropping is only worth it if it at least halves the uncertainty; on pure noise MSER drops at random.
    """
    n = len(y)
    if n < 4:
        return 0
    y = y - np.median(y)
    left = np.arange(n, 0, -1.0)
    mean = np.cumsum(y[::-1])[::-1] / left
    square = np.cumsum((y * y)[::-1])[::-1] / left
    doubt = ((square - mean * mean) / left)[: n // 2 + 1]
    cut = int(np.argmin(doubt))
    return cut if doubt[cut] < 0.5 * doubt[0] else 0


def block_medians(values: Floats, size: int) -> Floats:
    """Return the medians of whole blocks; NaN is left out, and a block of nothing else is NaN."""
    table = values[: len(values) // size * size].reshape(-1, size)
    known = np.isfinite(table)
    if known.all():
        whole: Floats = np.median(table, axis=1)
        return whole
    medians = np.full(len(table), np.nan)
    some = known.any(axis=1)
    medians[some] = np.nanmedian(table[some], axis=1)
    return medians


def word(line: Fit, worth: float, promised: float, unit: float = 0.0) -> tuple[Direction, str]:
    """Judge a line. `worth` and `promised` are shares of the level, or of `unit` if given."""
    worth, promised = worth * (unit or line.level), promised * (unit or line.level)
    low, high, change = line.change(line.low), line.change(line.high), line.change(line.slope)
    # Flat: no change that matters, and the interval has no room for one that anybody would notice.
    room = worth if unit else FLAT_ROOM * worth
    if abs(change) < worth and -room < low and high < room:
        return "flat", "any change is too small to matter"
    rate = FLAT_RATE * line.level
    if not unit and abs(change) < room and -rate < line.low and line.high < rate:
        return "flat", "per iteration, any change is too small to matter"
    up = change >= worth and low >= promised
    down = change <= -worth and high <= -promised
    if line.jump and abs(change) >= worth:
        return "unclear", ONE_STEP
    if not (up or down):
        return "unclear", NOISY
    if not line.steady:
        return "unclear", UNSTEADY
    return ("rising", "it rises steadily") if up else ("falling", "it falls steadily")
