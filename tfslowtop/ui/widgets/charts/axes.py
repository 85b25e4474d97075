"""Ticks and labels of axes. Pure: numbers in, positions and text out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...format import duration, quantity
from .scale import nice_ceiling


@dataclass(frozen=True, slots=True)
class XAxis:
    """The values at the left edge of the first column and at the right edge of the last."""

    first: float
    last: float
    label: Callable[[float], str]

    @classmethod
    def seconds_ago(cls, span: float) -> XAxis:
        return cls(-span, 0.0, lambda value: _ago(-value) if value < 0 else "now")

    @classmethod
    def iterations(cls, first: float, last: float) -> XAxis:
        return cls(first, last, lambda value: f"{value:,.0f}")


def _ago(seconds: float) -> str:
    """Return `-90 s`, and from two minutes on `-2:30 min`."""
    return f"-{seconds:.3g} s" if seconds < 120 else f"-{duration(seconds)}"


def nice_ticks(first: float, last: float, most: int) -> list[float]:
    """Return at most `most` round numbers from `first` to `last`, both ends included if possible."""
    span = last - first
    if not (math.isfinite(span) and span > 0) or most < 2:
        return []
    step = nice_ceiling(span / (most - 1))
    wider = nice_ceiling(step * 1.01)
    if not _divides(step, span) and _divides(wider, span):
        step = wider
    start, stop = math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9)
    return [k * step for k in range(start, stop + 1)][:most]


def _divides(step: float, span: float) -> bool:
    parts = span / step
    return parts > 1.5 and abs(parts - round(parts)) < 1e-6


def place_labels(width: int, texts: Sequence[tuple[int, str]]) -> str:
    """Centre texts on their cells, moved inside the edges; leave out those that would touch another."""
    cells = [" "] * width
    for centre, text in texts:
        start = max(0, min(width - len(text), centre - len(text) // 2))
        around = cells[max(0, start - 1) : start + len(text) + 1]
        if text and len(text) <= width and all(cell == " " for cell in around):
            cells[start : start + len(text)] = text
    return "".join(cells)


def tick_label(value: float, unit: str) -> str:
    """Format the round number of a tick: `20 ms`, `2.5 GB`, `0`."""
    if not value:
        return "0"
    number, space, name = quantity(value, unit).partition(" ")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + space + name
