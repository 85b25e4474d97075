"""Uses one compiled function where the program creates an equal tf.function again and again."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..code.ownership import function_of
from ..protocol.names import REASON_RECREATED
from .base import Refused
from .body import find_mutable, names_read
from .function_calls import FunctionCalls
from .graphs import check_pure
from .trial import Original, TracedFix

#: Options of a tf.function that decide what it compiles.
_OPTIONS = ("_autograph", "_jit_compile", "_reduce_retracing", "_experimental_autograph_options")
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))
#: Different functions that are kept: where all of them differ, there is nothing to share.
_MOST = 16


class SharedFunction(TracedFix):
    kind = "shared"

    def __init__(
        self, calls: FunctionCalls, is_library: Callable[[str], bool], code: CodeType, symbol: str
    ) -> None:
        title = f"compile {symbol} once and use it again"
        super().__init__(calls, is_library, title, REASON_RECREATED, code, symbol)
        self._kept: dict[tuple[Any, ...], Any] = {}
        """One function per code, options and captured values, which it keeps alive: ids stay unique."""

    def stop(self) -> None:
        super().stop()
        self._kept.clear()

    def _check(self, function: Any, args: tuple[Any, ...], kwds: Any) -> bool:
        if name := find_mutable(function._python_function):
            raise Refused(f"{self.symbol} reads {name}, which may change between two traces.")
        concrete = function.get_concrete_function(*args, **kwds)
        if getattr(function, "_created_variables", None):
            raise Refused(f"{self.symbol} creates variables, and each new function has its own.")
        self._kept[_key(function)] = function
        return check_pure(concrete)

    def _fixed(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        key = _key(function)
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= _MOST:
                raise Refused(f"Each {self.symbol} captures other values, so there is nothing to share.")
            kept = self._kept[key] = function
        return original(kept, *args, **kwds)


def _key(function: Any) -> tuple[Any, ...]:
    """Return what a function compiles: code, options, and what it reads from outside."""
    python = function._python_function
    owner = id(python.__self__) if isinstance(python, MethodType) else 0
    inner = function_of(python)
    if not isinstance(inner, FunctionType):
        return (id(python),)
    options = tuple(repr(getattr(function, name, None)) for name in _OPTIONS)
    read = tuple((name, *_identity(value)) for name, value in names_read(inner))
    defaults = tuple(_identity(value) for value in inner.__defaults__ or ())
    return inner.__code__, owner, options, str(function.function_type), read, defaults


def _identity(value: Any) -> tuple[Any, ...]:
    return (type(value), value) if type(value) in _CONSTANTS else (type(value), id(value))
