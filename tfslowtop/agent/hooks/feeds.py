"""Measures how long it takes to convert what a Session is fed to the placeholder's type."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import get_ident
from types import ModuleType
from typing import Any

from ..protocol.names import FEED_DICT, TALLY_HOST_COPY
from .base import Hook, find
from .context import HookContext
from .patch import hide_wrapper_frame

#: Nanoseconds; an array of the right type is ready at once.
_SLOW_CONVERSION = 200_000
#: Arrays of the right type count from this many bytes on: copying them takes time.
_LARGE = 1 << 20
#: TensorFlow uses an array in place if its data begin at a multiple of this, and copies any other.
_ALIGNED = 64


class FeedHook(Hook):
    title = "feeding Sessions"
    modules = ("tensorflow.python.client.session",)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._ready: dict[int, int] = {}  # by thread: when its feeds were converted

    def install(self, module: ModuleType) -> None:
        base = find(module, "BaseSession")
        self.patch(base, "_run", self._feeding)
        self.patch(base, "_do_run", self._fed)

    def _feeding(self, original: Callable[..., Any]) -> Callable[..., Any]:
        context, ready, clock, getframe = self.context, self._ready, time.perf_counter_ns, sys._getframe

        def _run(session: Any, handle: Any, fetches: Any, feed_dict: Any, *args: Any, **kwds: Any) -> Any:
            try:
                if not feed_dict or context.tracing.here() is not None:
                    return original(session, handle, fetches, feed_dict, *args, **kwds)
                start = clock()
                result = original(session, handle, fetches, feed_dict, *args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            try:
                took = ready.pop(get_ident(), start) - start
                context.trace_runs = context.trace_runs or copied(feed_dict) > 0
                if took > _SLOW_CONVERSION:
                    size = sum(getattr(value, "nbytes", 0) for value in feed_dict.values())
                    context.tallies.add(TALLY_HOST_COPY, getframe().f_back, took, size, symbol=FEED_DICT)
            except Exception as error:
                context.report_error(error)
            return result

        return _run

    def _fed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        ready, clock = self._ready, time.perf_counter_ns

        def _do_run(*args: Any, **kwds: Any) -> Any:
            ready[get_ident()] = clock()
            try:
                return original(*args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise

        return _do_run


def copied(feed_dict: Any) -> int:
    """Return the bytes of large arrays that are copied when they are fed; 0 for anything but a feed_dict."""
    if type(feed_dict) is not dict:
        return 0
    large = (a for a in feed_dict.values() if type(a).__name__ == "ndarray" and a.nbytes >= _LARGE)
    return sum(a.nbytes for a in large if a.__array_interface__["data"][0] % _ALIGNED)
