"""Traces with unknown dimensions where shapes vary, as `reduce_retracing=True` does."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from ..protocol.names import REASON_SHAPE
from ..safety.weak_table import WeakTable
from .base import Refused
from .function_calls import FunctionCalls
from .graphs import check_pure, new_control_flow
from .trial import Original, TracedFix


class RelaxedShapes(TracedFix):
    kind = "shapes"

    def __init__(
        self, calls: FunctionCalls, is_library: Callable[[str], bool], code: CodeType, symbol: str
    ) -> None:
        title = f"let {symbol} take any shape (reduce_retracing)"
        super().__init__(calls, is_library, title, REASON_SHAPE, code, symbol)
        self._twins: WeakTable[Any] = WeakTable()
        """By function: its twin with the option, which takes its relaxed traces along when the fix goes."""
        self._exact: Any = None

    def _check(self, function: Any, args: tuple[Any, ...], kwds: Any) -> bool:
        self._exact = function.get_concrete_function(*args, **kwds)
        return check_pure(self._exact)

    def _fixed(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        twin = self._twins.get(function, None)
        if twin is None:
            twin = function._clone(None)
            twin._reduce_retracing = True
            self._twins[function] = twin
        if self._left:  # it is being tried
            relaxed = twin.get_concrete_function(*args, **kwds)
            if new_control_flow(self._exact, relaxed):
                raise Refused(f"The body of {self.symbol} needs the exact shape in Python.")
        return original(twin, *args, **kwds)

    def stop(self) -> None:
        super().stop()
        self._twins.clear()
        self._exact = None
