"""Does it get slower? A robust slope with an interval, and one careful word.

The slope is Theil–Sen on block medians: up to 29 % of the blocks may be spoilt by a busy neighbour. Its
interval is Sen's (normal approximation to Kendall's S), widened for the lag-1 autocorrelation of the
residuals, because neighbouring blocks share their luck. A false "rising" sends people hunting for nothing, so
the word needs more than an interval; whatever is not shown is called unclear.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from .blocks import MAX_BLOCKS, Blocks, Floats, Ints, Stretch

Direction: TypeAlias = Literal["rising", "flat", "falling", "unclear"]

LEAST_BLOCKS = 12
LEAST_ITERATIONS = 20
#: Less than two seconds is mostly one scheduler's mood.
LEAST_SPAN_NS = 2_000_000_000
#: A change over the whole span that is worth a word, and the least that the interval must promise.
PRACTICAL = 0.10
PROMISED = 0.05
#: How much wider than that the interval of something flat may be: on a shared machine it never is narrower.
FLAT_ROOM = 2.0
#: Or else, of thousands of iterations that wander with the machine: half a percent per 100 iterations.
FLAT_RATE = 0.005 / 100
#: Each half must rise by this share of the whole slope: one jump is not a rise.
HALF_SHARE = 0.15
#: CPU time is a witness once it is this share of wall time.
CPU_SHARE = 0.3
_Z = 1.96
#: Student's t for 99 %, by degrees of freedom from 1 on. Not 95 %: neighbouring increments share a little.
_T99 = (63.7, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36)
_RHO_LIMIT = 0.97

TOO_FEW = "too few iterations yet"
NO_CPU = "wall time rises, CPU time does not: the machine is busy or the program waits"
NO_CPU_FALL = "wall time falls, CPU time does not: the machine was busy or the program waited"
ONE_STEP = "it changed in one step, not steadily"
UNSTEADY = "it moves, but not steadily"
NOISY = "the noise is larger than any trend"


@dataclass(frozen=True, slots=True)
class Trend:
    """What a quantity does from iteration to iteration. Slopes are in its own unit per iteration."""

    direction: Direction
    slope: float
    low: float
    high: float
    level: float
    n: int
    why: str

    @property
    def percent(self) -> float:
        """The slope in percent of the level per 100 iterations."""
        return 1e4 * self.slope / self.level if self.level else float("nan")


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through block values, and how sure it is."""

    slope: float
    low: float
    high: float
    level: float
    span: float
    steady: bool
    jump: bool

    def change(self, slope: float) -> float:
        """What a slope amounts to over the whole span."""
        return slope * self.span


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


def _middle_slope(x: Floats, y: Floats) -> float:
    slopes = _slopes(x, y)
    return float(np.median(slopes)) if len(slopes) else 0.0


def _ranks(values: Floats) -> Floats:
    """Ranks, centred; equal values share theirs, or a plateau would look like a slope."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    ranks -= ranks.mean()
    return ranks


def _autocorrelation(residuals: Floats) -> float:
    """Lag-1 autocorrelation of the ranks, corrected for its bias after a fitted line, on the safe side."""
    r = _ranks(residuals)
    n, energy = len(r), float(r @ r)
    if energy == 0.0:
        return 0.0
    rho = float(r[1:] @ r[:-1]) / energy
    rho = max(-1.0, min(1.0, (n * rho + 2.0) / max(1.0, n - 4.0)))
    # One standard error on top: too small an estimate is what makes noise look like a trend.
    return float(np.clip(rho + np.sqrt((1.0 - rho * rho) / n), 0.0, _RHO_LIMIT))


def _shape(x: Floats, y: Floats) -> tuple[float, float]:
    """How much of the ranks a line explains, and how much a single jump."""
    r, run = _ranks(y), x - x.mean()
    n, energy = len(r), float(r @ r)
    if energy == 0.0:
        return 0.0, 0.0
    line = float(run @ r) ** 2 / float(run @ run)
    left = np.arange(1, n)
    step = float((np.cumsum(r)[:-1] ** 2 * n / (left * (n - left))).max())
    return line / energy, step / energy


def fit(x: Floats, y: Floats) -> Fit:
    """Theil–Sen through at most a few hundred points, in order of `x`."""
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
    halves = [_middle_slope(x[:half], y[:half]), _middle_slope(x[half:], y[half:])]
    steady = all(h * np.sign(slope) >= HALF_SHARE * abs(slope) for h in halves)
    by_line, by_jump = _shape(x, y)
    return Fit(slope, low, high, level, span, steady and by_jump <= by_line, by_jump > max(0.5, by_line))


def warm_up(y: Floats) -> int:
    """How many values to leave out at the start, at most half: MSER, the rule that makes the mean surest.

    Cutting is only worth it when it halves the doubt at least; on pure noise MSER cuts at random.
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


def _blocks(values: Floats, size: int) -> Floats:
    """Medians of whole blocks; NaN is left out, and a block of nothing else is NaN."""
    table = values[: len(values) // size * size].reshape(-1, size)
    known = np.isfinite(table)
    if known.all():
        whole: Floats = np.median(table, axis=1)
        return whole
    medians = np.full(len(table), np.nan)
    some = known.any(axis=1)
    medians[some] = np.nanmedian(table[some], axis=1)
    return medians


def _direction(line: Fit, worth: float, promised: float, unit: float = 0.0) -> tuple[Direction, str]:
    """The word for a line. `worth` and `promised` are shares of the level, or of `unit` if given."""
    worth, promised = worth * (unit or line.level), promised * (unit or line.level)
    low, high, change = line.change(line.low), line.change(line.high), line.change(line.slope)
    # Flat: no change worth a word, and the interval has no room for one that anybody would notice.
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


def _slow_start(x: Floats, y: Floats) -> int:
    """Blocks to leave out of a latency: a start that is slower than the rest. A faster one is news.

    The rule looks at what a line leaves over, so that growth itself is not taken for warm-up.
    """
    y = np.where(np.isfinite(y), y, np.nanmedian(y))
    rest = y - _middle_slope(x, y) * x
    cut = warm_up(rest)
    return cut if cut and np.median(rest[:cut]) > np.median(rest[cut:]) else 0


def trend(data: Blocks | Stretch) -> Trend:
    """What the wall time does, with CPU time as a witness where it was sampled."""
    it = data.stretch() if isinstance(data, Blocks) else data
    n = len(it)
    size = max(1, -(-n // MAX_BLOCKS))
    if n < LEAST_ITERATIONS or n // size < LEAST_BLOCKS or it.start[-1] - it.start[0] < LEAST_SPAN_NS:
        return _nothing_yet(it.wall)
    x, wall, cpu = _blocks(it.index, size), _blocks(it.wall, size), _blocks(it.cpu, size)
    # CPU time tells warm-up from a neighbour's visit, where it is known.
    cut = _slow_start(x, cpu if _is_witness(wall, cpu) else wall)
    x, wall, cpu = x[cut:], wall[cut:], cpu[cut:]
    if len(x) < LEAST_BLOCKS:
        return _nothing_yet(wall)
    line = fit(x, wall)
    if _is_witness(wall, cpu):
        known = np.isfinite(cpu)
        direction, why = _with_witness(line, fit(x[known], cpu[known]))
    else:
        direction, why = _direction(line, PRACTICAL, PROMISED)
    return Trend(direction, line.slope, line.low, line.high, line.level, n - cut * size, why)


def _is_witness(wall: Floats, cpu: Floats) -> bool:
    """Whether CPU time was sampled often enough and is a large enough share to say anything."""
    known = np.isfinite(cpu)
    if known.sum() < max(LEAST_BLOCKS, 0.75 * len(cpu)):
        return False
    return float(np.median(cpu[known] / wall[known])) >= CPU_SHARE


def _with_witness(wall: Fit, cpu: Fit) -> tuple[Direction, str]:
    """Wall and CPU time must move together, and CPU time, which a neighbour disturbs least, must be sure."""
    direction, why = _direction(wall, PRACTICAL, PROMISED)
    seen, reason = _direction(cpu, PRACTICAL, PROMISED)
    if direction == "flat":
        return direction, why
    sign = {"rising": 1.0, "falling": -1.0}.get(seen, 0.0)
    if sign * wall.change(wall.slope) >= PRACTICAL * wall.level and sign:
        return seen, f"wall and CPU time {'rise' if sign > 0 else 'fall'} together"
    if direction == "unclear" and seen == "flat":
        return seen, "CPU time is flat; wall time wanders with the machine"
    if direction in ("rising", "falling") and reason not in (ONE_STEP, UNSTEADY):
        return "unclear", NO_CPU if direction == "rising" else NO_CPU_FALL
    return "unclear", why if direction == "unclear" else reason


def _nothing_yet(values: Floats) -> Trend:
    level = float(np.median(values)) if len(values) else float("nan")
    return Trend("unclear", float("nan"), float("nan"), float("nan"), level, len(values), TOO_FEW)


def slope(x: Floats, y: Floats, least: float = float(2**20)) -> Trend:
    """What a gauge does per iteration: `x` is the iteration at each reading, `least` a change that matters.

    Memory grows in steps (pages, arenas) and fills up at first. What departs from the newest line is left out
    at the start (MSER), and growth that stopped is not a leak: the newest part must keep half the pace.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    n, size = len(x), max(1, -(-len(x) // MAX_BLOCKS))
    if n < LEAST_BLOCKS or x[-1] - x[0] < LEAST_ITERATIONS:
        return _nothing_yet(y)
    x, y = _blocks(x, size), _blocks(y, size)
    cut = warm_up(y - _pace(x[_late(x)], y[_late(x)]) * x)
    x, y = x[cut:], y[cut:]
    if len(x) < LEAST_BLOCKS // 2 or x[-1] <= x[0]:
        return _nothing_yet(y)
    line = fit(x, y)
    direction, why = _direction(line, 1.0, 0.5, least)
    if direction == "unclear" and why == NOISY:
        line = _by_increments(line, x, y)
        direction, why = _direction(line, 1.0, 0.5, least)
    if direction == "rising" and not _still_going(x, y):
        direction, why = "unclear", "it grew and stopped"
    return Trend(direction, line.slope, line.low, line.high, line.level, n - cut * size, why)


def _late(x: Floats) -> slice:
    return slice(-max(2, len(x) * 2 // 5), None)


def _pace(x: Floats, y: Floats) -> float:
    """The slope of least squares, which bridges steps better than medians do."""
    run = x - x.mean()
    return float(run @ y) / max(float(run @ run), 1e-12)


def _by_increments(line: Fit, x: Floats, y: Floats) -> Fit:
    """The same line with an interval for what adds up: memory wanders by arenas, so its level remembers.

    Then the residuals of a line are alike for long, and Sen's interval has no end. The increments from one
    part of the run to the next are not alike; their mean has an interval of its own.
    """
    parts = min(10, len(x) // 3)
    if parts < 4:
        return line
    at = np.array([np.median(part) for part in np.array_split(x, parts)])
    level = np.array([np.median(part) for part in np.array_split(y, parts)])
    if (np.diff(at) <= 0).any():
        return line
    rates = np.diff(level) / np.diff(at)
    room = _T99[len(rates) - 2] * float(rates.std(ddof=1)) / np.sqrt(len(rates))
    mean = float(rates.mean())
    return replace(line, low=mean - room, high=mean + room, steady=True, jump=False)


def _still_going(x: Floats, y: Floats) -> bool:
    whole = _pace(x, y)
    return whole != 0.0 and _pace(x[_late(x)], y[_late(x)]) / whole >= 0.5


def _figure(value: float, ascii: bool) -> str:
    size = abs(value)
    text = f"{size:.0f}" if size >= 100 else f"{size:.1f}" if size >= 1 else f"{size:.2g}"
    return ("+" if value >= 0 else "-" if ascii else "−") + text


def describe_slope(it: Trend, ascii: bool = False) -> str:
    """`+3.1 %/100 it`, `flat` or `unclear`."""
    if it.direction in ("flat", "unclear"):
        return it.direction
    return f"{_figure(it.percent, ascii)} %/100 it"


def describe(it: Trend, ascii: bool = False) -> str:
    """`rising +3.1 %/100 it`, `falling −2.0 %/100 it`, `flat` or `unclear`."""
    text = describe_slope(it, ascii)
    return text if it.direction in ("flat", "unclear") else f"{it.direction} {text}"


def describe_leak(it: Trend, ascii: bool = False) -> str:
    """`+0.4 MB/it leak`, `−12.0 KB/it`, `flat` or `unclear`, for a trend of bytes."""
    if it.direction in ("flat", "unclear"):
        return it.direction
    scale, unit = next(
        (s, u) for s, u in ((1e8, "GB"), (1e5, "MB"), (1e2, "KB"), (0.0, "B")) if abs(it.slope) >= s
    )
    amount = _figure(it.slope / (10 * scale if scale else 1.0), ascii)
    return f"{amount} {unit}/it" + (" leak" if it.direction == "rising" else "")
