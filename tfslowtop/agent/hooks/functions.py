"""Calls of tf.functions: how long each took."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

from ..kit import Kit
from ..loops import CALL, Loop
from ..patch import unseen
from ..places import code_of
from .hook import Hook, find

_PACKAGE = "tensorflow.python.eager.polymorphic_function."
#: The gauge that says that tf.config.run_functions_eagerly is on.
EAGERLY = "functions run eagerly"


class FunctionHook(Hook):
    title = "calls of tf.functions"
    modules = (_PACKAGE + "polymorphic_function", _PACKAGE + "concrete_function")

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._known: dict[int, tuple[Any, int]] = {}
        self._refs: dict[int, Any] = {}

    def place(self, module: ModuleType) -> None:
        name = "Function" if module.__name__.endswith("polymorphic_function") else "ConcreteFunction"
        self.patch(find(module, name), "__call__", self._wrap)

    def tick(self, now: int) -> None:
        """A switch for debugging, which makes every tf.function a plain one."""
        module = sys.modules.get(_PACKAGE + "eager_function_run")
        if getattr(module, "RUN_FUNCTIONS_EAGERLY", False):
            self.kit.gauge(EAGERLY, now, 1.0)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        kit = self.kit
        quiet, clock, getframe, enter, oops = (
            kit.quiet,
            time.perf_counter_ns,
            sys._getframe,
            kit.tracker.enter,
            kit.oops,
        )
        known, learn, does = self._known, self._learn, kit.does

        def __call__(self: Any, *args: Any, **kwds: Any) -> Any:  # noqa: N807
            try:
                if quiet[0]:
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
                put, cache = known.get(number) or learn(self, getframe())
                put((start, end - start, 0))
                if turn is not None:
                    turn.end = end
                    turn.bits |= does.get(cache, CALL)
                    turn.what = number
            except Exception as error:
                oops(error)
            return result

        return __call__

    def _learn(self, function: Any, frame: FrameType | None) -> tuple[Any, int]:
        """A function instance that was not called before; functions made of the same code share a stream."""
        code = code_of(getattr(function, "_python_function", None))
        name = str(getattr(function, "_name", None) or getattr(function, "name", None) or "function")
        cache = id(getattr(function, "_function_cache", None))
        if code is None and hasattr(function, "graph"):
            code, cache = self.kit.concrete.get(function, (None, 0))
            name = str(getattr(function.graph, "name", name))
        caller = frame.f_back if frame is not None else None  # past the wrapper
        loop = function_stream(self.kit, name, code, caller)
        record = (loop.buffer.put, cache)
        number, known, refs, does = id(function), self._known, self._refs, self.kit.does

        def forget(_: Any) -> None:
            known.pop(number, None)
            refs.pop(number, None)
            does.pop(cache, None)

        refs[number] = weakref.ref(function, forget)
        known[number] = record
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
        loop = kit.stream("library-function" if inside else "function", name, file, line)
        kit.by_code[key] = loop
        kit.keep(code)
    return loop
