"""Gauges over time: memory, and what the target counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ..agent.protocol.events import Gauge
from ..agent.protocol.names import GAUGE_RSS, GaugeName
from ..stats.blocks import Floats, Ints, RecentRows
from ..stats.series import RAW, Series
from ..stats.trend import Trend, describe, describe_leak, slope
from .curves import filled
from .view import PanelView, Window

#: How the name of a gauge in bytes ends; all others are counts.
_BYTES = (GAUGE_RSS, "memory")
#: Growth of memory in bytes that matters.
_MATTERS = float(4 << 20)
_POINTS = 4096
#: Gauges with a curve; a machine with sixteen GPUs has about forty.
MOST = 64
#: Drawn as growth since the start: TensorFlow takes hundreds of megabytes before the first step, above which
#: a leak of a few would not show.
_GROWTH = GAUGE_RSS
#: Steps after which the growth counts: the first one allocates what the others use again.
_STEPS_BEFORE_GROWTH = 2
#: Readings that a third of the steps needs to be meaningful.
_FEW = 5


def _points() -> RecentRows:
    return RecentRows(_POINTS, np.float64, np.float64)


@dataclass(slots=True)
class _Gauge:
    series: Series = field(default_factory=Series)
    points: RecentRows = field(default_factory=_points)
    """Iteration and value since the last toggle, from which a leak is measured."""
    trend: Trend | None = None
    first: float = math.nan
    base: float = math.nan
    """The value after the first steps, and when it was read."""
    base_at: int = 0

    def find_base(self, at: Ints, values: Floats, steps: Floats) -> None:
        late = np.flatnonzero(np.isfinite(values) & (steps >= _STEPS_BEFORE_GROWTH))
        if len(late):
            self.base, self.base_at = float(values[late[0]]), int(at[late[0]])


class Gauges:
    def __init__(self) -> None:
        self._all: dict[GaugeName, _Gauge] = {}
        self._recomputed = 0
        self.full = False
        """Whether a gauge was refused because there are too many."""

    def __iter__(self) -> Iterator[GaugeName]:
        return iter(self._all)

    def add(self, readings: Iterable[Gauge], times: Ints, iterations: int, since: int) -> None:
        """Add readings. `times` says when the newest of all `iterations` began, which links both by the
        clock.

        What was read before `since`, the last toggle, says nothing about what came after it.
        """
        new: dict[GaugeName, list[Gauge]] = {}
        for reading in readings:
            new.setdefault(reading.name, []).append(reading)
        for name, some in new.items():
            gauge = self._all.get(name)
            if gauge is None:
                if len(self._all) >= MOST:
                    self.full = True
                    continue
                gauge = self._all[name] = _Gauge()
            at = np.array([reading.at for reading in some], np.int64)
            values = np.array([reading.value for reading in some], np.float64)
            gauge.series.add(at, values)
            if math.isnan(gauge.first):
                gauge.first = some[0].value
            if iterations:
                later = len(times) - np.searchsorted(times, at)
                counts = np.isfinite(values) & (at >= since)
                places = np.maximum(0, iterations - later).astype(np.float64)
                gauge.points.push(places[counts], values[counts])
                if name == _GROWTH and math.isnan(gauge.base):
                    gauge.find_base(at, values, places)

    def toggle(self) -> None:
        for gauge in self._all.values():
            gauge.points, gauge.trend = _points(), None

    def recompute(self, last: bool) -> None:
        self._recomputed += 1
        # A script has a dozen, which change little within a second.
        for name, gauge in self._all.items():
            if self._recomputed % 2 or last or gauge.trend is None:
                index, values = gauge.points.last(_POINTS)
                gauge.trend = slope(index, values, _MATTERS if name.endswith(_BYTES) else 1.0)

    def trend(self, name: GaugeName) -> Trend | None:
        return self._all[name].trend if name in self._all else None

    def summary(self, name: GaugeName) -> tuple[float, float, float, float | None]:
        """Return first, last and largest value, and the slope per step where one can be given."""
        gauge = self._all[name]
        has_slope = gauge.trend is not None and gauge.trend.direction in ("rising", "falling", "flat")
        line = gauge.trend.slope if gauge.trend is not None and has_slope else None
        return gauge.first, gauge.series.last, gauge.series.maximum, line

    def gained(self, name: GaugeName, since: int) -> float | None:
        """Return by how much a count has grown since a moment; None where that is not known."""
        if name not in self._all or not since:
            return None
        series = self._all[name].series
        times, values = series.recent_times(RAW), series.recent(RAW)
        if not len(values):
            return None
        return float(values[-1] - values[max(0, int(np.searchsorted(times, since)) - 1)])

    def rise(self, name: GaugeName) -> float:
        """Return by how much the last third of the steps is above the first; the first tenth is a warm-up."""
        values = self._all[name].points.last(_POINTS)[1]
        values = values[len(values) // 10 :]
        third = len(values) // 3
        return float(values[-third:].min() - values[:third].max()) if third >= _FEW else 0.0

    def paces(self, name: GaugeName, parts: int) -> tuple[float, ...]:
        """Return what a count gains per iteration, in equal parts of the iterations after a warm-up; nothing
        where there are too few readings."""
        if name not in self._all:
            return ()
        index, values = self._all[name].points.last(_POINTS)
        known = np.isfinite(values)
        index, values = index[known], values[known]
        if len(index) < _FEW * parts or index[-1] - index[0] < _FEW * parts:
            return ()
        edges = np.linspace(index[0] + (index[-1] - index[0]) / 20, index[-1], parts + 1)
        return tuple((np.diff(np.interp(edges, index, values)) / np.diff(edges)).tolist())

    def panels(self, window: Window) -> list[PanelView]:
        return [_panel(name, gauge, window) for name, gauge in self._all.items()]


def _panel(name: GaugeName, gauge: _Gauge, window: Window) -> PanelView:
    unit = "B" if name.endswith(_BYTES) else ""
    spread = gauge.series.spread()
    median, p95 = spread.quantiles((0.5, 0.95))
    say: Callable[[Trend], str] = describe_leak if unit == "B" else describe
    return PanelView(
        name=name,
        unit=unit,
        curve=filled(gauge.series.curve(*window), window[1], is_count=not unit),
        now=gauge.series.last,
        median=median,
        p95=p95,
        trend=gauge.trend,
        words=say(gauge.trend) if gauge.trend else "",
        spread=spread,
        base=gauge.base,
        base_at=gauge.base_at,
    )
