"""Measures how long the program waits for the next element of a dataset.

Where Python asks for the element, that is the time of the call. In Keras' fit a graph asks, where no hook can
see it. But tf.data itself measures the time between two elements, to tune its buffers, and returns it on
request; the rest of a batch's time is waiting.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from ..protocol.names import STREAM_DATA_WAIT, STREAM_FIT
from ..safety.signal_handlers import let_through
from ..safety.weak_table import WeakTable
from ..steps.streams import DATA, Stream
from .base import Hook, find
from .context import HookContext
from .patch import hide_wrapper_frame
from .tracing_state import eager

_DISTRIBUTED = "tensorflow.python.distribute.input_lib"
_ASK = "tensorflow.python.data.experimental.ops.iterator_model_ops"
#: Nanoseconds between two requests; one takes some tenths of a millisecond.
_PAUSE = 1_000_000_000
#: Batches since the last request that are worth another one.
_ENOUGH = 5
#: Iterators that are asked: fit has one, and one for its validation data.
_MOST = 4


class DatasetHook(Hook):
    title = "waiting for tf.data"
    modules = ("tensorflow.python.data.ops.iterator_ops", _DISTRIBUTED)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._unasked: WeakTable[list[int]] = WeakTable()
        """Iterators that Python never asked for an element, with how many elements each has produced."""
        self._next = 0
        self._fit: tuple[Stream | None, int, int, int] = (None, 0, 0, 0)
        """The last state of fit: its batches, their time, and when."""
        self._traces = 0
        self._waits: dict[int, Stream] = {}

    def install(self, module: ModuleType) -> None:
        wrap = self.context.timed(self._of, DATA, ends=("StopIteration", "OutOfRangeError"), when=eager)
        if module.__name__ == _DISTRIBUTED:
            self.patch(find(module, "DistributedIteratorBase"), "get_next", wrap, times=STREAM_DATA_WAIT)
            return
        iterator = find(module, "OwnedIterator")
        self.patch(iterator, "__init__", self._making)
        for name in ("__next__", "get_next"):
            self.patch(iterator, name, wrap, times=STREAM_DATA_WAIT)

    def tick(self, now: int) -> None:
        tracker = self.context.tracker
        if now < self._next or not self._unasked or tracker.errand is not None:
            return
        fit = self._running_fit()
        if fit is not None and (fit is not self._fit[0] or fit.count >= self._fit[1] + _ENOUGH):
            self._next = now + _PAUSE
            tracker.errand = self._ask

    def _of(self, frame: FrameType | None, args: tuple[Any, ...]) -> Stream:
        if self._unasked:
            self._unasked.pop(args[0])
        return self.context.site(STREAM_DATA_WAIT, "next element", frame)

    def _making(self, original: Callable[..., Any]) -> Callable[..., Any]:
        context, unasked = self.context, self._unasked

        def __init__(iterator: Any, *args: Any, **kwds: Any) -> None:  # noqa: N807
            try:
                original(iterator, *args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            if context.tracing.here() is not None or not eager():
                return  # a placeholder in a function that is being traced
            unasked[iterator] = [0]

        return __init__

    def _running_fit(self) -> Stream | None:
        fits = [loop for loop in self.context.tracker.loops if loop.kind == STREAM_FIT and loop.count]
        return max(fits, key=lambda loop: loop.last, default=None)

    def _ask(self, frame: FrameType | None) -> None:
        """Ask tf.data on the main thread, between two batches."""
        module, fit = sys.modules.get(_ASK), self._running_fit()
        if module is None or fit is None or not eager():
            return
        self.context.tracing.begin()  # what we call is not the program's doing
        try:
            gaps = self._gaps(module)
        finally:
            self.context.tracing.end()
        now, before = time.perf_counter_ns(), self._fit
        self._fit = (fit, fit.count, fit.buffer.total_wall(), now)
        batches, traces = fit.count - before[1], self.context.traces - self._traces
        self._traces += traces
        if fit is not before[0] or traces or batches < 1 or not gaps:
            return  # the first batches of a model include a trace, which is in no gap
        known = gaps[-batches:]
        waited = self._fit[2] - before[2] - batches * sum(known) * 1000 // len(known)
        start, pace = before[3], (now - before[3]) // batches
        wait = max(batches, waited) // batches
        put = self._stream(fit).buffer.put
        for number in range(batches):
            put((start + number * pace, wait, 0))

    def _gaps(self, module: ModuleType) -> list[int]:
        """Return the microseconds between elements, of the iterator that produced most since it was last
        asked."""
        best: tuple[int, list[int]] = (0, [])
        for iterator, known in self._unasked.items()[-_MOST:]:
            try:
                model = module.get_model_proto(iterator)
            except Exception as error:
                let_through(error)
                continue  # it is not tuned, so not measured
            given = int(model.nodes[model.output].num_elements)
            more, known[0] = given - known[0], given
            if more > best[0]:
                best = (more, list(model.gap_times))
        return best[1]

    def _stream(self, fit: Stream) -> Stream:
        """Return the stream of waiting in fit: each batch of a second gets that second's average."""
        stream = self._waits.get(id(fit))
        if stream is None:
            stream = self._waits[id(fit)] = self.context.stream(
                STREAM_DATA_WAIT, "next batch", fit.file, fit.line
            )
        return stream
