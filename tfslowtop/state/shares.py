"""The share of time that goes to one kind of call: Python that TensorFlow calls back, waiting for data.

A call counts for the half seconds in which it ran, not for the one in which it ended. Calls of several
threads add up, so the share can exceed 100 %.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from ..agent.protocol.events import Folded
from ..agent.protocol.names import (
    STREAM_DATA_LIBRARY_PYTHON_OP,
    STREAM_DATA_PYTHON_OP,
    STREAM_DATA_WAIT,
    STREAM_LIBRARY_PYTHON_OP,
    STREAM_PYTHON_OP,
    StreamKind,
)
from ..diagnosis.make import ms
from ..stats.blocks import Floats, Ints
from ..stats.series import Curve
from ..stats.spread import Spread
from .curves import filled
from .view import PanelView, Window

#: Nanoseconds: the share is measured per half second.
_BIN = 500_000_000
#: 18 hours, as a ring.
_BINS = 1 << 17
#: A call is reported when it has ended, with the next batch.
_LATE = 300_000_000
#: Percent of some half second from which on a share is worth a curve.
_WORTH = 2.0

#: Streams of these kinds, as first announced, count for the quantity of that name.
KINDS: dict[StreamKind, str] = {
    STREAM_PYTHON_OP: "Python ops",
    STREAM_LIBRARY_PYTHON_OP: "Python ops",
    STREAM_DATA_PYTHON_OP: "Python ops",
    STREAM_DATA_LIBRARY_PYTHON_OP: "Python ops",
    STREAM_DATA_WAIT: "waiting for data",
}


class Share:
    def __init__(self) -> None:
        self._busy: Floats = np.zeros(_BINS)
        self._first = self._newest = -1
        self.spread: Spread | None = None
        """Over all complete half seconds, as of the last `recompute`; None while it is negligible."""

    def add(self, start: Ints, wall: Ints) -> None:
        """Add calls: when they began and how long they took, in nanoseconds."""
        if not len(start):
            return
        self._reach(int(start.min()) // _BIN, int((start + wall).max()) // _BIN)
        self._spread(start, start + wall, np.ones(len(start)))

    def add_folded(self, start: int, end: int, busy: int) -> None:
        """Add calls of which only the sum is known, evenly over their time span."""
        end = max(start + 1, end)
        self._reach(start // _BIN, end // _BIN)
        weight = np.array([busy / (end - start)])
        self._spread(np.array([start], np.int64), np.array([end], np.int64), weight)

    def _reach(self, first: int, newest: int) -> None:
        self._first = first if self._first < 0 else min(self._first, first)
        if newest > self._newest:
            new = min(newest - self._newest, _BINS)
            self._busy[np.arange(newest - new + 1, newest + 1) % _BINS] = 0.0
            self._newest = newest

    def _spread(self, start: Ints, end: Ints, weight: Floats) -> None:
        """Count each call for the bins from its start to its end, in one pass: a batch may hold thousands of
        calls that last for hours."""
        oldest = max(self._newest - _BINS + 1, int(start.min()) // _BIN)
        start = np.maximum(start, oldest * _BIN)
        kept = end > start
        start, end, weight = start[kept], end[kept], weight[kept]
        if not len(start):
            return
        first, last = start // _BIN - oldest, end // _BIN - oldest
        # A call fills the bins after its first and before its last completely.
        steps = np.zeros(int(last.max()) + 1)
        np.add.at(steps, first, weight)
        np.add.at(steps, last, -weight)
        busy = np.cumsum(steps) * _BIN
        np.add.at(busy, first, -weight * (start - (first + oldest) * _BIN))
        np.add.at(busy, last, weight * (end - (last + oldest) * _BIN))
        # Rounding must not make an idle time negative.
        self._busy[np.arange(oldest, oldest + len(busy)) % _BINS] += np.maximum(busy, 0.0)

    def _percent(self, bins: Ints, now: int) -> Floats:
        """Return percents; NaN before the first call, for incomplete bins, and for forgotten ones."""
        known = (bins >= max(self._first, self._newest - _BINS + 1)) & ((bins + 1) * _BIN <= now - _LATE)
        busy = np.where(bins <= self._newest, self._busy[bins % _BINS], 0.0)
        return np.where(known, busy * (100.0 / _BIN), np.nan)

    def recent(self, now: int, seconds: float = 3.0) -> float:
        """Return the percent of the last seconds; NaN where nothing is known."""
        last = (now - _LATE) // _BIN
        values = self._percent(np.arange(last - int(seconds * 1e9 / _BIN), last), now)
        return float(values[np.isfinite(values)].mean()) if np.isfinite(values).any() else math.nan

    def recompute(self, now: int) -> None:
        begin = max(self._first, self._newest - _BINS + 1)
        values = self._percent(np.arange(begin, now // _BIN), now)
        values = values[np.isfinite(values)]
        if self.spread is not None or (len(values) and values.max() >= _WORTH):
            self.spread = Spread.of(values)

    def curve(self, start_ns: int, end_ns: int, columns: int, now: int) -> Curve:
        """Return a curve as a series does: columns begin at multiples of their width."""
        width = max(1, -(-(end_ns - start_ns) // max(1, columns - 1)))
        first = (end_ns - 1) // width - columns + 1
        per_column = max(1, width // _BIN)
        begin = (first + np.arange(columns, dtype=np.int64)) * width // _BIN
        values = self._percent(begin[:, None] + np.arange(per_column), now)
        known = np.isfinite(values)
        nothing = ~known.any(axis=1)
        lo, hi = (np.where(known, values, edge) for edge in (np.inf, -np.inf))
        mid = np.where(known, values, 0.0).sum(axis=1) / np.maximum(1, known.sum(axis=1))
        parts = (np.where(nothing, np.nan, part) for part in (lo.min(axis=1), mid, hi.max(axis=1)))
        return Curve(first * width, width, *parts)


class Shares:
    """All quantities of `KINDS`."""

    def __init__(self) -> None:
        self._all: defaultdict[str, Share] = defaultdict(Share)

    def add(self, kind: StreamKind, start: Ints, wall: Ints) -> None:
        if kind in KINDS:
            self._all[KINDS[kind]].add(start, wall)

    def add_folded(self, kind: StreamKind, event: Folded) -> None:
        if kind in KINDS:
            self._all[KINDS[kind]].add_folded(event.start, event.end, event.wall_sum)

    def recompute(self, now: int) -> None:
        for share in self._all.values():
            share.recompute(now)

    def panels(self, window: Window, now: int, rate: float) -> list[PanelView]:
        """Return the panels, in percent of the time and as time per step."""
        panels = []
        for name, share in self._all.items():
            if share.spread is None:
                continue
            recent = share.recent(now)
            per_step = recent / 100 / rate
            words = f"{ms(per_step)} per step" if math.isfinite(per_step) else ""
            curve = filled(share.curve(*window, now), window[1])
            median, p95 = share.spread.quantiles((0.5, 0.95))
            panels.append(PanelView(name, "%", curve, recent, median, p95, None, words, share.spread))
        return panels
