"""Times the calls of tf.functions."""

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
from ...steps.streams import CALL, Stream
from ..base import Hook, find
from ..context import HookContext
from ..patch import hide_wrapper_frame

_PACKAGE = "tensorflow.python.eager.polymorphic_function."

#: Where a function's samples go, the id of its cache, and the references that remove it when it dies.
_Known = tuple[Callable[[Iterable[int]], None], int, list["weakref.ref[Any]"]]


class FunctionHook(Hook):
    title = "calls of tf.functions"
    modules = (
        _PACKAGE + "polymorphic_function",
        _PACKAGE + "concrete_function",
        _PACKAGE + "monomorphic_function",  # TensorFlow 2.12 and 2.13
    )

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._known: dict[int, _Known] = {}

    def install(self, module: ModuleType) -> None:
        name = "Function" if module.__name__.endswith("polymorphic_function") else "ConcreteFunction"
        self.patch(find(module, name), "__call__", self._wrap, times=STREAM_FUNCTION)

    def tick(self, now: int) -> None:
        """Report the debugging switch that makes every tf.function a plain one."""
        module = sys.modules.get(_PACKAGE + "eager_function_run")
        if getattr(module, "RUN_FUNCTIONS_EAGERLY", False):
            self.context.gauge(GAUGE_RUN_EAGERLY, now, 1.0)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        context = self.context
        tracing, here, clock, getframe, enter, report_error = (
            context.tracing.any,
            context.tracing.here,
            time.perf_counter_ns,
            sys._getframe,
            context.tracker.enter,
            context.report_error,
        )
        known, learn, does = self._known, self._learn, context.does

        def __call__(self: Any, *args: Any, **kwds: Any) -> Any:  # noqa: N807
            try:
                if tracing and here() is not None:
                    return original(self, *args, **kwds)
                start = clock()
                number = id(self)
                iteration = enter(getframe(), start, number)
                result = original(self, *args, **kwds) if kwds else original(self, *args)
                end = clock()
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            try:
                put, cache, _ = known.get(number) or learn(self, getframe())
                put((start, end - start, 0))
                if iteration is not None:
                    iteration.end = end
                    iteration.bits |= does.get(cache, CALL)
                    iteration.what = number
            except Exception as error:
                report_error(error)
            return result

        return __call__

    def _learn(self, function: Any, frame: FrameType | None) -> _Known:
        """Register a function at its first call; functions of the same code share a stream."""
        code = code_of(getattr(function, "_python_function", None))
        name = str(getattr(function, "_name", None) or getattr(function, "name", None) or "function")
        cache = id(getattr(function, "_function_cache", function))
        if code is None and hasattr(function, "graph"):
            code, cache = self.context.concrete.get(function, (None, 0))
            name = str(getattr(function.graph, "name", name))
        caller = frame.f_back if frame is not None else None  # past the wrapper
        stream = function_stream(self.context, name, code, caller)
        number = id(function)
        # Removed by C alone: Python ignores what a signal handler raises in these callbacks.
        forgets = ((self._known, number), (self.context.does, cache))
        references = [weakref.ref(function, functools.partial(where.pop, key)) for where, key in forgets]
        record = self._known[number] = (stream.buffer.put, cache, references)
        return record


def function_stream(
    context: HookContext, name: str, code: CodeType | None, caller: FrameType | None
) -> Stream:
    """Return the one stream of all functions of the same code."""
    key = id(code) if code is not None else name
    stream = context.by_code.get(key)
    if stream is None:
        file, line = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
        inside = (code is None or context.ownership.is_library(file)) and (
            caller is not None and context.ownership.is_library(caller.f_code.co_filename)
        )
        known = not context.full
        stream = context.stream(STREAM_LIBRARY_FUNCTION if inside else STREAM_FUNCTION, name, file, line)
        if known:
            context.by_code[key] = stream
            context.keep(code)
    return stream
