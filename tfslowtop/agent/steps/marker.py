"""`with tfslowtop.step():`, by which a program marks its steps itself."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from ..hooks.context import HookContext
from ..protocol.names import STREAM_MARKED
from .streams import Stream


class Marker:
    """Replaces the context manager that does nothing while the program is watched."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._open = threading.local()
        self._stream: Stream | None = None
        self._kept: Any = None

    def install(self) -> None:
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
            stream = self._stream or self._find(sys._getframe().f_back)
            start, cpu = self._open.start, self._open.cpu
            stream.buffer.put((start, time.perf_counter_ns() - start, time.process_time_ns() - cpu))
        except Exception as error:
            self._context.report_error(error)

    def _find(self, frame: FrameType | None) -> Stream:
        file, line = self._context.ownership.user_line(frame)
        self._stream = self._context.tracker.new_stream(STREAM_MARKED, "step", file, line)
        return self._stream
