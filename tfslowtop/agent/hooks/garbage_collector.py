"""Pauses of Python's garbage collector.

Python ignores what a signal handler raises in a callback of the collector, so a Ctrl-C that came during a
collection would be lost if ours ran any Python code. It is put together from functions in C instead: they
write down when each collection began and ended, and ask for a look at the line that goes on after it.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import threading
import time
from _thread import get_ident
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..protocol.names import GAUGE_GC_COLLECTIONS, GAUGE_GC_SECONDS, STREAM_GC, TALLY_GC_PAUSE
from ..safety.interrupt import Interrupt
from ..steps.streams import Loop
from .base import Hook
from .context import Kit

#: Nanoseconds; shorter pauses are only summed.
_WORTH_TELLING = 500_000
#: Times that wait for the agent's thread, two per collection; it comes ten times a second.
_WAITING = 8192


def _callback(
    times: deque[int], latest: deque[int], thread: deque[int], look: dict[str, Callable[[], object]]
) -> Any:
    """Return what goes into `gc.callbacks`: called with "start" or "stop" and a dict, it runs C alone.

    `times` and `latest` get the time of each start, and that of each stop as a negative number; `thread` gets
    the thread of each stop; what `look` has under "ask" is taken from there and called.
    """

    def endless(function: Callable[[], object]) -> Any:
        return iter(function, object())  # calls it for each item that it is asked for

    def noted(clock: Any) -> Any:
        one, two = itertools.tee(clock)
        return zip(map(times.append, one), map(latest.append, two), strict=False)

    now = endless(time.perf_counter_ns)
    started = noted(now)
    stopped = zip(
        noted(map(operator.neg, now)),
        map(thread.append, endless(get_ident)),
        map(operator.methodcaller("__call__"), endless(functools.partial(look.pop, "ask", int))),
        strict=False,
    )
    # getattr(phases, "start", info) asks the property, which takes the next item.
    phases = {
        name: property(functools.partial(next, it)) for name, it in (("start", started), ("stop", stopped))
    }
    return functools.partial(getattr, type("Phases", (), phases)())


class CollectorHook(Hook):
    title = "garbage collection"

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._total = 0
        self._count = 0
        self._stream: Loop | None = None
        self._times: deque[int] = deque(maxlen=_WAITING)
        # The agent's thread empties `_times`, and may get to run before the main thread looks.
        self._latest: deque[int] = deque(maxlen=2)
        self._thread: deque[int] = deque(maxlen=1)
        self._look: dict[str, Callable[[], object]] = {}
        self._interrupt = Interrupt(self._after_collection)
        self._main = threading.main_thread().ident
        self._look["ask"] = self._interrupt.request
        self._callback = _callback(self._times, self._latest, self._thread, self._look)
        gc.callbacks.append(self._callback)

    def _after_collection(self, frame: FrameType | None) -> None:
        """On the main thread: notes the line, and the library's function through which it asked for it."""
        self._look["ask"] = self._interrupt.request
        try:
            (start, stop), (thread,) = self._latest, self._thread
            stop = -stop
            if thread != self._main or not 0 < start <= stop - _WORTH_TELLING or self._is_import(start):
                return
            user, through = self.kit.places.user_frame(frame), ""
            while frame is not None and frame is not user:
                through, frame = frame.f_code.co_name, frame.f_back
            self.kit.tallies.add(TALLY_GC_PAUSE, user, stop - start, symbol=through)
        except (RuntimeError, ValueError):
            pass  # another thread collects just now
        except Exception as error:
            self.kit.oops(error)

    def _is_import(self, start: int) -> bool:
        """Collections while TensorFlow is imported are a part of the import."""
        return self.kit.importing or start < self.kit.imported_at

    def tick(self, now: int) -> None:
        times, start = self._times, 0
        while times and (times[0] < 0 or len(times) > 1):
            at = times.popleft()
            if at > 0:
                start = at
            elif start:
                self._add(start, -at - start)
                start = 0
        self.kit.gauge(GAUGE_GC_SECONDS, now, self._total / 1e9)
        self.kit.gauge(GAUGE_GC_COLLECTIONS, now, self._count)

    def _add(self, start: int, wall: int) -> None:
        if self._is_import(start):
            return
        self._total += wall
        self._count += 1
        if wall >= _WORTH_TELLING:
            if self._stream is None:
                self._stream = self.kit.stream(STREAM_GC, "garbage collection", "", 0)
            self._stream.buffer.put((start, wall, 0))

    def remove(self) -> None:
        super().remove()
        self._interrupt.close()
        if self._callback in gc.callbacks:
            gc.callbacks.remove(self._callback)
