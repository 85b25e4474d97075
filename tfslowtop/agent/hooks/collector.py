"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
import sys
import time
from types import FrameType
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
                self._note(sys._getframe().f_back, wall)

    def _note(self, frame: FrameType | None, wall: int) -> None:
        """By line, with the library's function through which the line asked for it, if it did so."""
        try:
            user, through = self.kit.places.user_frame(frame), ""
            while frame is not None and frame is not user:
                through, frame = frame.f_code.co_name, frame.f_back
            self.kit.tallies.add("gc-pause", user, wall, symbol=through)
        except Exception as error:
            self.kit.oops(error)

    def tick(self, now: int) -> None:
        self.kit.gauge("gc pause seconds", now, self._total / 1e9)
        self.kit.gauge("gc collections", now, self._count)

    def remove(self) -> None:
        super().remove()
        if self._collecting in gc.callbacks:
            gc.callbacks.remove(self._collecting)
