"""numpy_function, py_function and generators: Python that TensorFlow calls back on its own threads."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from ..code.ownership import code_of
from ..protocol.names import (
    STREAM_DATA_LIBRARY_PYTHON_OP,
    STREAM_DATA_PYTHON_OP,
    STREAM_LIBRARY_PYTHON_OP,
    STREAM_PYTHON_OP,
)
from ..steps.streams import CALL, Stream
from .base import Hook, find
from .context import HookContext
from .patch import hide_wrapper_frame
from .tracing_state import eager

#: The module in which a dataset traces the functions that it is given.
_PIPELINE = ("structured_function.py",)
#: Functions in pipelines that are recognised as such.
_MOST_TOKENS = 20_000
#: By whether it runs in an input pipeline, and whether it is a library's.
_KINDS = {
    (False, False): STREAM_PYTHON_OP,
    (False, True): STREAM_LIBRARY_PYTHON_OP,
    (True, False): STREAM_DATA_PYTHON_OP,
    (True, True): STREAM_DATA_LIBRARY_PYTHON_OP,
}


class PythonOpHook(Hook):
    title = "numpy_function and py_function"
    modules = ("tensorflow.python.ops.script_ops",)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._known: dict[int | str, Stream] = {}
        self._data: set[str] = set()
        """Tokens of functions that a dataset was built with: they run in its pipeline, not in the step."""

    def install(self, module: ModuleType) -> None:
        self.patch(find(module, "FuncRegistry"), "__call__", self._calling)
        self.patch(find(module, "FuncRegistry"), "insert", self._inserting)
        # Outside a graph, numpy_function calls the user's function without the registry.
        self.patch(module, "py_func_common", self.context.timed(self._called, CALL, when=eager))

    def _inserting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def insert(registry: Any, function: Any) -> Any:
            token = original(registry, function)
            try:
                frame: Any = sys._getframe()
                while frame is not None and not frame.f_code.co_filename.endswith(_PIPELINE):
                    frame = frame.f_back
                if frame is not None and len(self._data) < _MOST_TOKENS:
                    self._data.add(_text(token))
            except Exception as error:
                self.context.report_error(error)
            return token

        return insert

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        context, report_error, clock = self.context, self.context.report_error, time.perf_counter_ns

        def __call__(registry: Any, token: Any, *args: Any) -> Any:  # noqa: N807
            context.called_back_at = start = clock()
            try:
                result = original(registry, token, *args)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            try:
                wall = clock() - start
                self._stream(registry, token).buffer.put((start, wall, 0))
            except Exception as error:
                report_error(error)
            return result

        return __call__

    def _called(self, frame: FrameType | None, args: tuple[Any, ...]) -> Stream:
        return self._stream_of(args[0], "")

    def _stream(self, registry: Any, token: Any) -> Stream:
        function = registry.get(token)
        return self._stream_of(getattr(function, "_func", function), token)  # py_function wraps the user's

    def _stream_of(self, function: Any, token: Any) -> Stream:
        code = self._users(code_of(function), function)
        key = id(code) if code is not None else str(token)
        stream = self._known.get(key)
        if stream is None:
            place = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
            name = code.co_name if code is not None else "python function"
            library = code is None or self.context.ownership.is_library(code.co_filename)
            kind = _KINDS[_text(token) in self._data, library]
            known = not self.context.full
            stream = self.context.stream(kind, name, *place)
            if known:
                self._known[key] = stream
                self.context.keep(code)
        return stream

    def _users(self, code: Any, function: Any) -> Any:
        """Find the user's function in the closure of a generator's or a decorator's own."""
        if code is None or not self.context.ownership.is_library(code.co_filename):
            return code
        for cell in getattr(function, "__closure__", None) or ():
            try:
                inner = code_of(cell.cell_contents)
            except ValueError:
                continue
            if inner is not None and not self.context.ownership.is_library(inner.co_filename):
                return inner
        return code


def _text(token: Any) -> str:
    return token.decode() if isinstance(token, bytes) else str(token)
