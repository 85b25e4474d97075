"""The last minutes of a few sensor readings, one value a second: enough for a small curve.

A series of its own for each reading would take a megabyte; a machine with eight GPUs has a hundred of them.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping

from ..agent.protocol.events import Gauge
from ..agent.protocol.names import GPU_PREFIX, GaugeName

_SECOND = 1_000_000_000
#: Seconds that are kept.
KEPT = 240
#: A reading that its sensor has left out for this long is dropped: the driver refuses it, or the device is
#: gone. Compared with the sensor's own newest reading, so that a slow driver does not count as silent.
_STALE = 10 * _SECOND
_CURVED = re.compile(r"rss|cpu|machine\.others|(tf\.)?gpu\.[^.]+\.(memory|clock|utilisation)")


class Recent:
    def __init__(self) -> None:
        self._at: dict[GaugeName, int] = {}
        self._newest = {True: 0, False: 0}
        self._kept: dict[GaugeName, deque[float]] = {}
        self._second = 0
        self._seen: Mapping[GaugeName, tuple[float, ...]] = {}

    def add(self, gauges: list[Gauge], readings: dict[GaugeName, float]) -> None:
        """Add new gauges, whose values are in `readings` already, and remove stale ones from there."""
        for gauge in gauges:
            self._at[gauge.name] = gauge.at
            gpu = gauge.name.startswith(GPU_PREFIX)
            self._newest[gpu] = max(self._newest[gpu], gauge.at)
        second = max(self._newest.values()) // _SECOND
        if second > self._second:
            self._second = second
            self._forget(readings)
            self._keep(readings)

    def drop_gpus(self, readings: dict[GaugeName, float]) -> None:
        """Remove the readings of all devices: none of them answers any more."""
        for name in [name for name in self._at if name.startswith(GPU_PREFIX)]:
            self._at.pop(name)
            readings.pop(name, None)

    def histories(self) -> Mapping[GaugeName, tuple[float, ...]]:
        """Return a value a second by name, newest last. The result never changes afterwards."""
        return self._seen

    def _forget(self, readings: dict[GaugeName, float]) -> None:
        stale = [n for n, at in self._at.items() if self._newest[n.startswith(GPU_PREFIX)] - at > _STALE]
        for name in stale:
            del self._at[name]
            readings.pop(name, None)

    def _keep(self, readings: dict[GaugeName, float]) -> None:
        for name in readings:
            if name not in self._kept and _CURVED.fullmatch(name):
                self._kept[name] = deque(maxlen=KEPT)
        for name, kept in self._kept.items():
            lost = readings.get(GaugeName(name.rpartition(".")[0] + ".lost"), 0.0)
            kept.append(math.nan if lost else readings.get(name, math.nan))
        self._seen = {name: tuple(kept) for name, kept in self._kept.items()}
