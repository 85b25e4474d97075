"""numpy_function, py_function and generators: Python that TensorFlow calls back, from threads of its own."""

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
from ..steps.streams import CALL, Loop
from .base import Hook, find
from .context import Kit
from .patch import unseen
from .tracing_state import eager

#: The module in which a dataset traces the functions that it is given.
_PIPELINE = ("structured_function.py",)
#: Functions in pipelines that are told from others.
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

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._known: dict[int | str, Loop] = {}
        self._data: set[str] = set()
        """Tokens of functions that a dataset was built with: they run in its pipeline, not in the step."""

    def place(self, module: ModuleType) -> None:
        self.patch(find(module, "FuncRegistry"), "__call__", self._calling)
        self.patch(find(module, "FuncRegistry"), "insert", self._inserting)
        # Outside of any graph, numpy_function calls the user's function without the registry.
        self.patch(module, "py_func_common", self.kit.timed(self._called, CALL, when=eager))

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
                self.kit.oops(error)
            return token

        return insert

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        oops, clock = self.kit.oops, time.perf_counter_ns

        def __call__(registry: Any, token: Any, *args: Any) -> Any:  # noqa: N807
            start = clock()
            try:
                result = original(registry, token, *args)
            except BaseException as error:
                unseen(error)
                raise
            try:
                wall = clock() - start
                self._stream(registry, token).buffer.put((start, wall, 0))
            except Exception as error:
                oops(error)
            return result

        return __call__

    def _called(self, frame: FrameType | None, args: tuple[Any, ...]) -> Loop:
        return self._stream_of(args[0], "")

    def _stream(self, registry: Any, token: Any) -> Loop:
        function = registry.get(token)
        return self._stream_of(getattr(function, "_func", function), token)  # py_function wraps the user's

    def _stream_of(self, function: Any, token: Any) -> Loop:
        code = self._users(code_of(function), function)
        key = id(code) if code is not None else str(token)
        loop = self._known.get(key)
        if loop is None:
            place = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
            name = code.co_name if code is not None else "python function"
            library = code is None or self.kit.places.is_library(code.co_filename)
            kind = _KINDS[_text(token) in self._data, library]
            known = not self.kit.full
            loop = self.kit.stream(kind, name, *place)
            if known:
                self._known[key] = loop
                self.kit.keep(code)
        return loop

    def _users(self, code: Any, function: Any) -> Any:
        """A generator's or a decorator's own function holds the user's in its closure."""
        if code is None or not self.kit.places.is_library(code.co_filename):
            return code
        for cell in getattr(function, "__closure__", None) or ():
            try:
                inner = code_of(cell.cell_contents)
            except ValueError:
                continue
            if inner is not None and not self.kit.places.is_library(inner.co_filename):
                return inner
        return code


def _text(token: Any) -> str:
    return token.decode() if isinstance(token, bytes) else str(token)
