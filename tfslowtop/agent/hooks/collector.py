"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
import time
from typing import Any

from ..kit import Kit
from ..loops import Loop
from .hook import Hook

#: Shorter pauses are only summed.
_WORTH_TELLING = 500_000


class CollectorHook(Hook):
    title = "garbage collection"

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._start = 0
        self._total = 0
        self._count = 0
        self._stream: Loop | None = None
        gc.callbacks.append(self._collecting)

    def _collecting(self, phase: str, info: dict[str, Any]) -> None:
        now = time.perf_counter_ns()
        if phase == "start":
            self._start = now
        elif self._start:
            wall = now - self._start
            self._total += wall
            self._count += 1
            if wall >= _WORTH_TELLING:
                if self._stream is None:
                    self._stream = self.kit.stream("gc", "garbage collection", "", 0)
                self._stream.buffer.put((self._start, wall, 0))

    def tick(self, now: int) -> None:
        self.kit.gauge("gc pause seconds", now, self._total / 1e9)
        self.kit.gauge("gc collections", now, self._count)

    def remove(self) -> None:
        super().remove()
        if self._collecting in gc.callbacks:
            gc.callbacks.remove(self._collecting)
