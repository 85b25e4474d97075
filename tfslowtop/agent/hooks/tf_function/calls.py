"""Calls of tf.functions: how long each took."""

from __future__ import annotations

import functools
import sys
import time
import weakref
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, ModuleType
from typing import Any

from ...code.ownership import code_of
from ...protocol.names import GAUGE_RUN_EAGERLY, STREAM_FUNCTION, STREAM_LIBRARY_FUNCTION
from ...steps.streams import CALL, Loop
from ..base import Hook, find
from ..context import Kit
from ..patch import unseen

_PACKAGE = "tensorflow.python.eager.polymorphic_function."

#: Where the times of a function go, the id of its cache, and what takes it out again when it dies.
_Known = tuple[Callable[[Iterable[int]], None], int, list["weakref.ref[Any]"]]


class FunctionHook(Hook):
    title = "calls of tf.functions"
    modules = (_PACKAGE + "polymorphic_function", _PACKAGE + "concrete_function")

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._known: dict[int, _Known] = {}

    def place(self, module: ModuleType) -> None:
        name = "Function" if module.__name__.endswith("polymorphic_function") else "ConcreteFunction"
        self.patch(find(module, name), "__call__", self._wrap)

    def tick(self, now: int) -> None:
        """A switch for debugging, which makes every tf.function a plain one."""
        module = sys.modules.get(_PACKAGE + "eager_function_run")
        if getattr(module, "RUN_FUNCTIONS_EAGERLY", False):
            self.kit.gauge(GAUGE_RUN_EAGERLY, now, 1.0)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        kit = self.kit
        tracing, here, clock, getframe, enter, oops = (
            kit.tracing.any,
            kit.tracing.here,
            time.perf_counter_ns,
            sys._getframe,
            kit.tracker.enter,
            kit.oops,
        )
        known, learn, does = self._known, self._learn, kit.does

        def __call__(self: Any, *args: Any, **kwds: Any) -> Any:  # noqa: N807
            try:
                if tracing and here() is not None:
                    return original(self, *args, **kwds)
                start = clock()
                number = id(self)
                turn = enter(getframe(), start, number)
                result = original(self, *args, **kwds) if kwds else original(self, *args)
                end = clock()
            except BaseException as error:
                unseen(error)
                raise
            try:
                put, cache, _ = known.get(number) or learn(self, getframe())
                put((start, end - start, 0))
                if turn is not None:
                    turn.end = end
                    turn.bits |= does.get(cache, CALL)
                    turn.what = number
            except Exception as error:
                oops(error)
            return result

        return __call__

    def _learn(self, function: Any, frame: FrameType | None) -> _Known:
        """A function instance that was not called before; functions made of the same code share a stream."""
        code = code_of(getattr(function, "_python_function", None))
        name = str(getattr(function, "_name", None) or getattr(function, "name", None) or "function")
        cache = id(getattr(function, "_function_cache", None))
        if code is None and hasattr(function, "graph"):
            code, cache = self.kit.concrete.get(function, (None, 0))
            name = str(getattr(function.graph, "name", name))
        caller = frame.f_back if frame is not None else None  # past the wrapper
        loop = function_stream(self.kit, name, code, caller)
        number = id(function)
        # Forgotten by C alone: Python ignores what a signal handler raises in these callbacks.
        forgets = ((self._known, number), (self.kit.does, cache))
        references = [weakref.ref(function, functools.partial(where.pop, key)) for where, key in forgets]
        record = self._known[number] = (loop.buffer.put, cache, references)
        return record


def function_stream(kit: Kit, name: str, code: CodeType | None, caller: FrameType | None) -> Loop:
    """The one stream of all functions that are made of the same code."""
    key = id(code) if code is not None else name
    loop = kit.by_code.get(key)
    if loop is None:
        file, line = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
        inside = (code is None or kit.places.is_library(file)) and (
            caller is not None and kit.places.is_library(caller.f_code.co_filename)
        )
        known = not kit.full
        loop = kit.stream(STREAM_LIBRARY_FUNCTION if inside else STREAM_FUNCTION, name, file, line)
        if known:
            kit.by_code[key] = loop
            kit.keep(code)
    return loop
