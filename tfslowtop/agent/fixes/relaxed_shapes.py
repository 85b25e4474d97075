"""Traces with unknown dimensions where shapes vary, as `reduce_retracing=True` does."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from ..protocol.names import REASON_SHAPE
from .base import Refused
from .function_calls import FunctionCalls
from .graphs import is_pure, new_control_flow
from .trial import Original, TracedFix


class RelaxedShapes(TracedFix):
    kind = "shapes"

    def __init__(
        self, calls: FunctionCalls, is_library: Callable[[str], bool], code: CodeType, symbol: str
    ) -> None:
        title = f"let {symbol} take any shape (reduce_retracing)"
        super().__init__(calls, is_library, title, REASON_SHAPE, code, symbol)
        self._exact: Any = None

    def _check(self, function: Any, args: tuple[Any, ...], kwds: Any) -> bool:
        before = function.get_concrete_function(*args, **kwds)
        self._exact = before
        return is_pure(before)

    def _fixed(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        options = [
            o
            for name in ("_variable_creation_config", "_no_variable_creation_config")
            if (o := getattr(function, name, None)) is not None
        ]
        if not options or not hasattr(options[0], "reduce_retracing"):
            raise Refused("This version of TensorFlow keeps the option in an unknown place.")
        traces = _count(function)
        kept = [o.reduce_retracing for o in options]
        for o in options:
            o.reduce_retracing = True
        # Only during the call: other calls of the program, and those after the fix, are as before.
        try:
            concrete = function.get_concrete_function(*args, **kwds) if self._exact is not None else None
            if concrete is not None and _count(function) > traces:
                if new_control_flow(self._exact, concrete):
                    raise Refused(f"The body of {self.symbol} needs the exact shape in Python.")
                self._pure = self._pure and is_pure(concrete)
            return original(function, *args, **kwds)
        finally:
            for o, value in zip(options, kept, strict=True):
                o.reduce_retracing = value

    def stop(self) -> None:
        super().stop()
        self._exact = None


def _count(function: Any) -> int:
    return int(function.experimental_get_tracing_count())
