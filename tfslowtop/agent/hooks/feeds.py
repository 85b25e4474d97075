"""What a Session is fed with: the time until it is in the type that the placeholder wants."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import get_ident
from types import ModuleType
from typing import Any

from ..protocol.names import FEED_DICT, TALLY_HOST_COPY
from .base import Hook, find
from .context import Kit
from .patch import unseen

#: Nanoseconds; an array of the right type is ready at once.
_WORTH_A_WORD = 200_000
#: Bytes of arrays of the right type from which on it counts what copying them takes.
_LARGE = 1 << 20
#: TensorFlow uses an array in place whose data begin at a multiple of this, and copies any other.
_ALIGNED = 64


class FeedHook(Hook):
    title = "what Sessions are fed"
    modules = ("tensorflow.python.client.session",)

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._ready: dict[int, int] = {}  # by thread: when its feeds were

    def place(self, module: ModuleType) -> None:
        base = find(module, "BaseSession")
        self.patch(base, "_run", self._feeding)
        self.patch(base, "_do_run", self._fed)

    def _feeding(self, original: Callable[..., Any]) -> Callable[..., Any]:
        kit, ready, clock, getframe = self.kit, self._ready, time.perf_counter_ns, sys._getframe

        def _run(session: Any, handle: Any, fetches: Any, feed_dict: Any, *args: Any, **kwds: Any) -> Any:
            try:
                if not feed_dict or kit.tracing.here() is not None:
                    return original(session, handle, fetches, feed_dict, *args, **kwds)
                start = clock()
                result = original(session, handle, fetches, feed_dict, *args, **kwds)
            except BaseException as error:
                unseen(error)
                raise
            try:
                took = ready.pop(get_ident(), start) - start
                kit.trace_runs = kit.trace_runs or copied(feed_dict) > 0
                if took > _WORTH_A_WORD:
                    size = sum(getattr(value, "nbytes", 0) for value in feed_dict.values())
                    kit.tallies.add(TALLY_HOST_COPY, getframe().f_back, took, size, symbol=FEED_DICT)
            except Exception as error:
                kit.oops(error)
            return result

        return _run

    def _fed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        ready, clock = self._ready, time.perf_counter_ns

        def _do_run(*args: Any, **kwds: Any) -> Any:
            ready[get_ident()] = clock()
            try:
                return original(*args, **kwds)
            except BaseException as error:
                unseen(error)
                raise

        return _do_run


def copied(feed_dict: Any) -> int:
    """Bytes of large arrays that are copied when they are fed; 0 for what is no feed."""
    if type(feed_dict) is not dict:
        return 0
    large = (a for a in feed_dict.values() if type(a).__name__ == "ndarray" and a.nbytes >= _LARGE)
    return sum(a.nbytes for a in large if a.__array_interface__["data"][0] % _ALIGNED)
