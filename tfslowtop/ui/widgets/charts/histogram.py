"""The distribution of a quantity: bars over a logarithmic axis, with the quantiles marked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....stats.spread import Spread
from ...format import plain, quantity
from .axes import XAxis, nice_ticks, place_labels
from .chart import Chart, Line
from .drawing import CurveData, Mode
from .scale import StickyScale, nice_ceiling


class _FittedScale(StickyScale):
    """A scale per picture: nothing scrolls here that could jump."""

    def update(self, peak: float, now: float) -> float:
        return nice_ceiling(peak) if peak > 0 else 1.0


class Histogram(Chart):
    """Latencies spread over decades. On a logarithmic axis the tail is as visible as the bulk."""

    def __init__(self, *, mode: Mode = "block", id: str | None = None) -> None:
        super().__init__(mode=mode, id=id, scale=_FittedScale(), formatter=lambda value: quantity(value, ""))
        self._unit = ""
        self._gutter = len("5,000") + 2  # from the start, because the bars depend on the room that is left

    def show(self, spread: Spread, unit: str, now: float) -> None:
        histogram = spread.histogram(max(10, self.columns // 2))
        if not len(histogram.counts):
            self.update(CurveData.of([]), now)
            return
        self._unit = unit
        counts, edges = histogram.counts, np.log(histogram.edges)
        room = max(len(counts), self.columns)
        # All bars equally wide: one that is a cell wider would look like more.
        wide = room // len(counts)
        values = np.full(room, np.nan)
        values[: wide * len(counts)] = np.where(counts > 0, counts, np.nan).repeat(wide)
        per_column = (edges[-1] - edges[0]) / (wide * len(counts))
        quantiles = dict(zip(("p50", "p95", "p99"), spread.quantiles((0.5, 0.95, 0.99)), strict=True))
        places = {
            name: int((math.log(value) - edges[0]) / per_column)
            for name, value in quantiles.items()
            if value > 0
        }
        marks = {name: min(max(0, place), room - 1) for name, place in places.items()}
        data = CurveData(values, values, values, tuple(marks.values()), None, tuple(marks))
        axis = XAxis(float(edges[0]), float(edges[0] + room * per_column), self._label)
        self.update(data, now, x_axis=axis)

    def _label(self, value: float) -> str:
        text = quantity(math.exp(value), self._unit)
        return plain(text) if self.mode == "ascii" else text

    def _x_lines(self, axis: XAxis, gutter: int, width: int) -> list[Line]:
        per_cell = (axis.last - axis.first) / width
        cells = {
            int((tick - axis.first) / per_cell): tick for tick in _ticks(axis.first, axis.last, width // 10)
        }
        corner, plain_cell, mark = "+-+" if self.mode == "ascii" else "└─┬"
        rule = "".join(mark if x in cells else plain_cell for x in range(width))
        names = place_labels(width, [(x, axis.label(tick)) for x, tick in sorted(cells.items())])
        edge = " " * (gutter - 1) + corner if gutter else ""
        return [[(edge + rule, "axis")], [(" " * gutter + names, "label")]]


def _ticks(first: float, last: float, most: int) -> Sequence[float]:
    """Return logarithms of round numbers between two logarithms; over many decades only powers of ten."""
    if last - first < math.log(4):
        return [
            math.log(tick) for tick in nice_ticks(math.exp(first), math.exp(last), max(2, most)) if tick > 0
        ]
    decades = range(math.floor(first / math.log(10)), math.ceil(last / math.log(10)) + 1)
    for digits in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [math.log(digit) + decade * math.log(10) for decade in decades for digit in digits]
        ticks = [tick for tick in ticks if first <= tick < last]
        if len(ticks) <= max(1, most):
            return ticks
    return ticks[:: -(-len(ticks) // max(1, most))]
