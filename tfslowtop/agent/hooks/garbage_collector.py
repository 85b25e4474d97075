"""Measures the pauses of Python's garbage collector.

Python ignores what a signal handler raises in a callback of the collector, so a Ctrl-C during a collection
would be lost if our callback ran any Python code. It is assembled from C functions instead: they record when
each collection began and ended, and request a look at the line that continues after it.
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
from sys import getprofile, gettrace  # now, because the program may replace them in `sys`
from types import FrameType
from typing import Any

from ..protocol.names import GAUGE_GC_COLLECTIONS, GAUGE_GC_SECONDS, STREAM_GC, TALLY_GC_PAUSE
from ..safety.interrupt import Interrupt
from ..steps.streams import Stream
from .base import Hook
from .context import HookContext

#: Nanoseconds; shorter pauses are only summed.
_SHORTEST_SAMPLE = 500_000
#: Times that wait for the agent's thread, two per collection; it comes ten times a second.
_WAITING = 8192


def _callback(
    times: deque[int], latest: deque[int], thread: deque[int], look: dict[str, Callable[[], object]]
) -> Any:
    """Make a callback for `gc.callbacks` that runs only C: it is called with "start" or "stop" and a dict.

    `times` and `latest` get the time of each start, and that of each stop as a negative number; `thread` gets
    the thread of each stop; the function in `look["ask"]` is removed and called.
    """

    def endless(function: Callable[[], object]) -> Any:
        return iter(function, object())  # calls it for each item

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
    # getattr(phases, "start", info) reads the property, which takes the next item.
    phases = {
        name: property(functools.partial(next, it)) for name, it in (("start", started), ("stop", stopped))
    }
    return functools.partial(getattr, type("Phases", (), phases)())


class GarbageCollectorHook(Hook):
    title = "garbage collection"

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._total = 0
        self._count = 0
        self._stream: Stream | None = None
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
        """Record the line that continues, and the library function that triggered the collection."""
        try:
            (start, stop), (thread,) = self._latest, self._thread
            stop = -stop
            if thread != self._main or not 0 < start <= stop - _SHORTEST_SAMPLE or self._is_import(start):
                return
            user, through = self.context.ownership.user_frame(frame), ""
            while frame is not None and frame is not user:
                through, frame = frame.f_code.co_name, frame.f_back
            self.context.tallies.add(TALLY_GC_PAUSE, user, stop - start, symbol=through)
        except (RuntimeError, ValueError):
            pass  # another thread collects just now
        except Exception as error:
            self.context.report_error(error)
        finally:
            # Last, because what is allocated here may itself start a collection: with a low threshold
            # (`gc.set_threshold(1)`) each look would cause the next. Under a debugger or a coverage tool this
            # was the last look: its trace function may start a collection before we return, and Python 3.11
            # never gets past the first instruction of a traced call that is pending behind another one.
            if gettrace() is None and getprofile() is None:
                self._look["ask"] = self._interrupt.request

    def _is_import(self, start: int) -> bool:
        """Whether TensorFlow was being imported: such collections are part of the import."""
        return self.context.importing or start < self.context.imported_at

    def tick(self, now: int) -> None:
        times, start = self._times, 0
        while times and (times[0] < 0 or len(times) > 1):
            at = times.popleft()
            if at > 0:
                start = at
            elif start:
                self._add(start, -at - start)
                start = 0
        self.context.gauge(GAUGE_GC_SECONDS, now, self._total / 1e9)
        self.context.gauge(GAUGE_GC_COLLECTIONS, now, self._count)

    def _add(self, start: int, wall: int) -> None:
        if self._is_import(start):
            return
        self._total += wall
        self._count += 1
        if wall >= _SHORTEST_SAMPLE:
            if self._stream is None:
                self._stream = self.context.stream(STREAM_GC, "garbage collection", "", 0)
            self._stream.buffer.put((start, wall, 0))

    def remove(self) -> None:
        super().remove()
        self._interrupt.close()
        if self._callback in gc.callbacks:
            gc.callbacks.remove(self._callback)
