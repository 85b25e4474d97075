"""`with tfslowtop.step():` in the program: where a step begins and ends, said by its author."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from ..hooks.context import Kit
from ..protocol.names import STREAM_MARKED
from .streams import Loop


class Marker:
    """Stands in for the context manager that does nothing."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._open = threading.local()
        self._loop: Loop | None = None
        self._kept: Any = None

    def place(self) -> None:
        module: Any = sys.modules["tfslowtop"]
        self._kept = getattr(module, "_marker", None)
        if self._kept is not None:
            module._marker = self

    def remove(self) -> None:
        module: Any = sys.modules.get("tfslowtop")
        if module is not None and self._kept is not None and module._marker is self:
            module._marker = self._kept

    def __enter__(self) -> None:
        self._open.start = time.perf_counter_ns()
        self._open.cpu = time.process_time_ns()

    def __exit__(self, *_: object) -> None:
        try:
            loop = self._loop or self._find(sys._getframe().f_back)
            start, cpu = self._open.start, self._open.cpu
            loop.buffer.put((start, time.perf_counter_ns() - start, time.process_time_ns() - cpu))
        except Exception as error:
            self._kit.oops(error)

    def _find(self, frame: FrameType | None) -> Loop:
        file, line = self._kit.places.user_line(frame)
        self._loop = self._kit.tracker.loop(STREAM_MARKED, "step", file, line)
        return self._loop
