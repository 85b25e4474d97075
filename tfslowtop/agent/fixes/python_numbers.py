"""Passes Python numbers as tensors, so that a new value needs no new trace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..protocol.names import REASON_PYTHON_VALUE
from .base import Refused
from .function_calls import FunctionCalls
from .graphs import check_pure, new_control_flow, output_types
from .trial import Original, TracedFix

#: What a Python number becomes, in the order that is tried: TensorFlow converts an int that meets floats.
_DTYPES = {int: ("int32", "float32", "float64"), float: ("float32", "float64")}
#: From here on, a float32 does not hold every whole number.
_EXACT = 2**24


class PythonNumbers(TracedFix):
    kind = "numbers"

    def __init__(
        self,
        calls: FunctionCalls,
        is_library: Callable[[str], bool],
        code: CodeType,
        symbol: str,
        arguments: tuple[str, ...],
    ) -> None:
        names = " and ".join(arguments)
        title = f"pass {names} to {symbol} as {'a tensor' if len(arguments) == 1 else 'tensors'}"
        super().__init__(calls, is_library, title, REASON_PYTHON_VALUE, code, symbol)
        self._arguments = arguments
        self._dtypes: tuple[str, ...] = ()

    def _check(self, function: Any, args: tuple[Any, ...], kwds: Any) -> bool:
        before = function.get_concrete_function(*args, **kwds)
        numbers = self._numbers(function, args, kwds)
        if not numbers:
            raise Refused("No Python number was passed.")
        whole = all(type(number) is int for number in numbers)
        names, error = " and ".join(self._arguments), None
        for dtype in _DTYPES[int if whole else float]:
            self._dtypes = (dtype,)
            converted = self._convert(function, args, kwds)
            try:
                after = function.get_concrete_function(*converted[0], **converted[1])
            except Exception as failure:  # the body does something with it that a tensor cannot do
                error = error or failure
                continue
            if new_control_flow(before, after):
                raise Refused(
                    f"The body of {self.symbol} needs {names} in Python, for a loop, a branch or a shape."
                )
            if output_types(before) != output_types(after):
                error = error or Refused(f"{names} as a tensor changes the type of the result.")
                continue
            return check_pure(before) and check_pure(after)
        if isinstance(error, Refused):
            raise error
        raise Refused(f"The body of {self.symbol} needs the Python value of {names}: {_brief(error)}")

    def _fixed(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        args, kwds = self._convert(function, args, kwds)
        return original(function, *args, **kwds)

    def _places(self, function: Any) -> dict[int, str]:
        names = list(function.function_type.parameters)
        return {names.index(name): name for name in self._arguments if name in names}

    def _numbers(self, function: Any, args: tuple[Any, ...], kwds: Any) -> list[Any]:
        given = [args[place] for place in self._places(function) if place < len(args)]
        given += [kwds[name] for name in self._arguments if name in kwds]
        return [value for value in given if type(value) in _DTYPES]

    def _convert(self, function: Any, args: tuple[Any, ...], kwds: Any) -> tuple[tuple[Any, ...], Any]:
        places = self._places(function)
        args = tuple(self._tensor(value) if n in places else value for n, value in enumerate(args))
        if kwds:
            kwds = {name: self._tensor(v) if name in self._arguments else v for name, v in kwds.items()}
        return args, kwds

    def _tensor(self, value: Any) -> Any:
        if type(value) not in _DTYPES:
            return value
        (dtype,) = self._dtypes
        if dtype == "int32" and type(value) is float:
            raise Refused(f"{self._arguments[0]} was whole so far, and now it is {value}.")
        if dtype == "float32" and type(value) is int and abs(value) > _EXACT:
            raise Refused(f"{value} does not fit into a float32.")
        return sys.modules["tensorflow"].constant(value, dtype=dtype)


def _brief(error: BaseException | None) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:120]}"
