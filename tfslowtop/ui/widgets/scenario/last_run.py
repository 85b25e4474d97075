"""What a scenario measured on this machine the last time, in a word and in a line."""

from __future__ import annotations

import itertools
import time

from ....catalogue.find import Entry
from ....catalogue.measured import Measured
from ...format import duration, quantity

_BARS = "▁▂▃▄▅▆▇█"


def badge(measured: Measured, entry: Entry) -> str:
    """Return the factor, or for a leak that costs no time what leaked."""
    leaks = entry.scenario is not None and entry.scenario.kind == "leaks"
    if leaks and measured.leak and measured.low < 1.1:
        return measured.leak.removesuffix(" leak")
    return _factor(measured.ratio)


def describe_last_run(measured: Measured, *, ascii: bool = False) -> str:
    """Return `×46 (34–55): 17.7 → 0.39 ms, 2 days ago`, with the curve."""
    times = f"{quantity(measured.before, 's')} → {quantity(measured.after, 's')}"
    interval = f"{_number(measured.low)}–{_number(measured.high)}"
    if measured.low <= 1 <= measured.high:
        effect = f"no difference shown, {_factor(measured.ratio)} ({interval})"
    else:
        effect = f"{_factor(measured.ratio)} ({interval})"
    leak = f"; {measured.leak} without the fix" if measured.leak else ""
    curve = f"   {spark(measured.curve)}" if measured.curve and not ascii else ""
    return f"{effect}: {times}{leak}, {_ago(measured.at)}{curve}"


def spark(values: tuple[float, ...], columns: int = 0) -> str:
    """Return a small curve from zero to the largest value, in so many columns or one for each value."""
    if columns:
        values = tuple(max(part) for part in _parts(values, columns) if part)
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(7, max(0, int(8 * value / top)))] for value in values)


def _parts(values: tuple[float, ...], count: int) -> list[tuple[float, ...]]:
    edges = [round(n * len(values) / count) for n in range(count + 1)]
    return [values[a:b] for a, b in itertools.pairwise(edges)]


def _factor(ratio: float) -> str:
    return f"×{_number(ratio)}"


def _number(value: float) -> str:
    return f"{value:,.{0 if value >= 10 else 1 if value >= 0.95 else 2}f}"


def _ago(at: float) -> str:
    seconds = max(0.0, time.time() - at)
    if seconds < 90:
        return "just now"
    days = int(seconds // 86400)
    return f"{days} day{'s' if days > 1 else ''} ago" if days else f"{duration(seconds)} ago"
