"""Counts and times the traces of tf.functions."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..events import Note, Trace

#: TensorFlow 2.14 and later keep the one place where every trace is made here.
MODULE = "tensorflow.python.eager.polymorphic_function.tracing_compilation"
_PLACE = "_create_concrete_function"


class TraceHook:
    """Wraps the place where a trace is made. Costs nothing on a call that does not trace."""

    def __init__(self, emit: Callable[[Any], None]) -> None:
        self._emit = emit
        self._numbers: Counter[tuple[str, str, int]] = Counter()
        self._original: Callable[..., Any] | None = None

    def install(self) -> None:
        module = sys.modules.get(MODULE)
        original = getattr(module, _PLACE, None)
        if module is None or original is None:
            version = getattr(sys.modules.get("tensorflow"), "__version__", "of an unknown version")
            self._emit(Note(f"retraces are not counted: TensorFlow {version} keeps them in another place"))
            return

        def traced(function_type: Any, type_context: Any, func_graph: Any, options: Any) -> Any:
            start = time.perf_counter_ns()
            try:
                return original(function_type, type_context, func_graph, options)
            finally:
                self._report(options, start, time.perf_counter_ns() - start)

        self._original = original
        setattr(module, _PLACE, traced)

    def remove(self) -> None:
        if self._original is not None:
            setattr(sys.modules[MODULE], _PLACE, self._original)
            self._original = None

    def _report(self, options: Any, start: int, wall: int) -> None:
        try:
            name = str(getattr(options, "name", None) or "function")
            code = _code(getattr(options, "python_function", None))
            place = (name, code.co_filename, code.co_firstlineno) if code else (name, "", 0)
            self._numbers[place] += 1
            self._emit(Trace(*place, self._numbers[place], start, wall, ()))
        except Exception as error:
            self._emit(Note(f"the agent's own error while noting a trace: {error}"))


def _code(function: Any) -> CodeType | None:
    """The user's own code behind TensorFlow's decorators and bound methods."""
    for _ in range(20):
        inner = getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        if inner is None:
            break
        function = inner
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
