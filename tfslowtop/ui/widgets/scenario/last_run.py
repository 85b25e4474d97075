"""What a scenario measured on this machine the last time, in a word and in a line."""

from __future__ import annotations

import time

from ....catalogue.find import Entry
from ....catalogue.measured import Measured
from ...format import quantity
from ..spark import spark

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


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


def _factor(ratio: float) -> str:
    return f"×{_number(ratio)}"


def _number(value: float) -> str:
    return f"{value:,.{0 if value >= 10 else 1 if value >= 0.95 else 2}f}"


def _ago(at: float) -> str:
    seconds = max(0.0, time.time() - at)
    if seconds < 90:
        return "just now"
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size)
    count = int(seconds // size)
    return f"{count} {unit}{'s' if count > 1 else ''} ago"
