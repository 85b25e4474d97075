"""Does it get slower? A slope with an interval and a cautious verdict, confirmed by CPU time.

`fit` makes the line and its verdict; this adds what latency and memory each need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .blocks import MAX_BLOCKS, Blocks, Floats, Stretch
from .fit import NOISY, ONE_STEP, UNSTEADY, Direction, Fit, block_medians, fit, middle_slope, warm_up, word

#: Fewer block medians give no reliable line.
LEAST_BLOCKS = 12
#: Readings of a gauge after which it may be called unchanged.
LEAST_UNCHANGED = 4
LEAST_ITERATIONS = 20
#: Shorter spans say more about the scheduler than about the program.
LEAST_SPAN_NS = 2_000_000_000
#: A change over the whole span that matters, and the least that the interval must guarantee.
PRACTICAL = 0.10
PROMISED = 0.05
#: CPU time confirms a trend if it is at least this share of wall time. No more: with a dozen other processes
#: on two cores a program that only computes has a quarter, and that is when it is needed most.
CPU_SHARE = 0.12
#: Student's t for 99 %, by degrees of freedom from 1 on. Not 95 %: neighbouring increments are not
#: independent.
_T99 = (63.7, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36)

#: No line starts lower than this share of its level: nothing takes less than no time.
LEAST_START = 0.05

TOO_FEW = "too few iterations yet"
NO_CPU = "wall time rises, CPU time does not: the machine is busy or the program waits"
NO_CPU_FALL = "wall time falls, CPU time does not: the machine was busy or the program waited"


@dataclass(frozen=True, slots=True)
class Trend:
    """How a quantity changes from iteration to iteration. Slopes are in its own unit per iteration."""

    direction: Direction
    slope: float
    low: float
    high: float
    level: float
    n: int
    why: str
    climb: float = float("nan")
    """The newest tenth of the blocks divided by the oldest."""
    room: float = float("inf")
    """The largest change over the span, as a share of the level, that wall or CPU time leaves room for."""

    @property
    def percent(self) -> float:
        """The slope in percent of the level per 100 iterations."""
        return 1e4 * self.slope / self.level if self.level else float("nan")

    def ends(self, iterations: int) -> tuple[float, float]:
        """Return the line at the first and at the last of so many iterations.

        A line through a bent curve may start below zero, so its start is at least `LEAST_START` of the level.
        """
        half = self.slope * iterations / 2
        return max(LEAST_START * self.level, self.level - half), self.level + half


def _slow_start(x: Floats, y: Floats) -> int:
    """Choose the blocks to drop at the start of a latency: a start that is slower than the rest. A faster one
    is news.

    The rule looks at the residuals of a line, so that growth itself is not mistaken for warm-up.
    """
    y = np.where(np.isfinite(y), y, np.nanmedian(y))
    rest = y - middle_slope(x, y) * x
    cut = warm_up(rest)
    return cut if cut and np.median(rest[:cut]) > np.median(rest[cut:]) else 0


def trend(data: Blocks | Stretch) -> Trend:
    """Return the trend of wall time, confirmed by CPU time where it was sampled."""
    it = data.stretch() if isinstance(data, Blocks) else data.ordered()
    n = len(it)
    size = max(1, -(-n // MAX_BLOCKS))
    if n < LEAST_ITERATIONS or n // size < LEAST_BLOCKS or it.span_ns < LEAST_SPAN_NS:
        return _nothing_yet(it.wall)
    x, wall, cpu = block_medians(it.index, size), block_medians(it.wall, size), block_medians(it.cpu, size)
    # CPU time, where known, distinguishes warm-up from a disturbance.
    cut = _slow_start(x, cpu if _is_witness(wall, cpu) else wall)
    x, wall, cpu = x[cut:], wall[cut:], cpu[cut:]
    if len(x) < LEAST_BLOCKS:
        return _nothing_yet(wall)
    line = fit(x, wall)
    room = line.room
    if _is_witness(wall, cpu):
        known = np.isfinite(cpu)
        used = fit(x[known], cpu[known])
        room = min(room, used.room)
        direction, why = _with_witness(line, used)
    else:
        direction, why = word(line, PRACTICAL, PROMISED)
    tenth = max(1, len(wall) // 10)
    climb = float(np.median(wall[-tenth:]) / max(float(np.median(wall[:tenth])), 1e-12))
    return Trend(direction, line.slope, line.low, line.high, line.level, n - cut * size, why, climb, room)


def _is_witness(wall: Floats, cpu: Floats) -> bool:
    """Whether CPU time was sampled often enough and is a large enough share to be meaningful."""
    known = np.isfinite(cpu)
    if known.sum() < max(LEAST_BLOCKS, 0.75 * len(cpu)):
        return False
    known &= wall > 0.0
    return bool(known.any()) and float(np.median(cpu[known] / wall[known])) >= CPU_SHARE


def _with_witness(wall: Fit, cpu: Fit) -> tuple[Direction, str]:
    """Require wall and CPU time to move together, and CPU time, the less disturbed one, to be certain."""
    direction, why = word(wall, PRACTICAL, PROMISED)
    seen, reason = word(cpu, PRACTICAL, PROMISED)
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
    """Return the trend of a gauge: `x` is the iteration at each reading, `least` a change that matters.

    Memory grows in steps (pages, arenas) and fills up at first. What departs from the newest line is dropped
    at the start (MSER), and growth that stopped is not a leak: the newest part must keep half the pace.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    n, size = len(x), max(1, -(-len(x) // MAX_BLOCKS))
    if n < LEAST_UNCHANGED or x[-1] - x[0] < LEAST_ITERATIONS:
        return _nothing_yet(y)
    if n < LEAST_BLOCKS:
        return _unchanged(x, y, least) if np.ptp(y) < 0.5 * least else _nothing_yet(y)
    x, y = block_medians(x, size), block_medians(y, size)
    cut = warm_up(y - _pace(x[_late(x)], y[_late(x)]) * x)
    x, y = x[cut:], y[cut:]
    if len(x) < LEAST_BLOCKS // 2 or x[-1] <= x[0]:
        return _nothing_yet(y)
    line = fit(x, y)
    direction, why = word(line, 1.0, 0.5, least)
    if direction == "unclear" and why == NOISY:
        line = _by_increments(line, x, y)
        direction, why = word(line, 1.0, 0.5, least)
    if direction == "rising" and not _still_going(x, y):
        direction, why = "unclear", "it grew and stopped"
    return Trend(direction, line.slope, line.low, line.high, line.level, n - cut * size, why)


def _unchanged(x: Floats, y: Floats, least: float) -> Trend:
    """Judge a gauge with few readings: a constant value is sent once a second."""
    room = 0.5 * least / float(x[-1] - x[0])
    level, why = float(np.median(y)), "any change is too small to matter"
    return Trend("flat", _pace(x, y), -room, room, level, len(y), why)


def _late(x: Floats) -> slice:
    return slice(-max(2, len(x) * 2 // 5), None)


def _pace(x: Floats, y: Floats) -> float:
    """Return the least-squares slope, which bridges steps better than medians do."""
    run = x - x.mean()
    return float(run @ y) / max(float(run @ run), 1e-12)


def _by_increments(line: Fit, x: Floats, y: Floats) -> Fit:
    """Return the same line with an interval for what accumulates: memory moves in arenas, so its level
    persists.

    The residuals of a line are then correlated for long, and Sen's interval has no end. The increments from
    one part of the run to the next are not; their mean has an interval of its own.
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
    """`+0.4 MB/it leak`, `−12.0 kB/it`, `flat` or `unclear`, for a trend of bytes."""
    if it.direction in ("flat", "unclear"):
        return it.direction
    scale, unit = next(
        (s, u) for s, u in ((1e8, "GB"), (1e5, "MB"), (1e2, "kB"), (0.0, "B")) if abs(it.slope) >= s
    )
    amount = _figure(it.slope / (10 * scale if scale else 1.0), ascii)
    return f"{amount} {unit}/it" + (" leak" if it.direction == "rising" else "")
