"""The traces of all functions over time: their curve, and the newest of them. Blame is in `retraces`."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from ..agent.protocol.events import Trace
from ..stats.series import Series
from .curves import held
from .retraces import is_avoidable
from .view import PanelView, Window

#: Traces that are kept for the screen.
_NEWEST = 200


class Traces:
    def __init__(self) -> None:
        self.count = 0
        self.retraces = 0
        """Those a code change would avoid; the first trace of a function is not among them."""
        self.seconds = 0.0
        self.newest: deque[Trace] = deque(maxlen=_NEWEST)
        self._series = Series()
        self._new: list[tuple[int, int]] = []
        self._last_retrace: Trace | None = None

    def add(self, trace: Trace) -> None:
        self.count += 1
        self.seconds += trace.wall / 1e9
        self.newest.append(trace)
        if is_avoidable(trace):
            self.retraces += 1
            self._last_retrace = trace
            self._new.append((trace.at, self.retraces))

    def settle(self) -> None:
        """Add what came, once per batch: a thousand traces cost little more than one."""
        if self._new:
            at, counts = zip(*self._new, strict=True)
            self._series.add(np.array(at, np.int64), np.array(counts, np.float64))
            self._new.clear()

    def panel(self, window: Window, since: int) -> PanelView:
        """Return the panel. `since` is when the target began: there is no curve before that."""
        return PanelView(
            name="retraces",
            unit="",
            curve=held(self._series.curve(*window), self.retraces, since),
            now=float(self.retraces),
            median=math.nan,
            p95=math.nan,
            trend=None,
            words=self._words(),
        )

    def _words(self) -> str:
        last = self._last_retrace
        if last is not None:
            return f"{last.function}: {last.number} trace{'' if last.number == 1 else 's'}"
        return f"{self.count} first trace{'' if self.count == 1 else 's'}" if self.count else "none"
