"""What the fixes for tf.functions have in common: a trial at the first call, and a way back at any error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..protocol.names import TraceReason
from ..safety.signal_handlers import let_through
from .base import FunctionFix, Refused
from .body import Constants, find_effect
from .function_calls import FunctionCalls
from .graphs import TOLERANCE, are_same, check_pure, off_the_tape, ran

Original = Callable[..., Any]

#: Calls whose results are compared with the original's, where a call can be repeated.
_COMPARED = 3


class TracedFix(FunctionFix):
    """A fix that makes a tf.function trace less often.

    Each call goes through `_fixed`. The first calls are also made without the fix, if that changes nothing,
    and the results are compared.
    """

    def __init__(
        self,
        calls: FunctionCalls,
        is_library: Callable[[str], bool],
        title: str,
        cause: TraceReason,
        code: CodeType,
        symbol: str,
    ) -> None:
        super().__init__(title, cause, code, symbol)
        self._calls, self._is_library = calls, is_library
        self._trial = threading.Lock()
        self._left = 0
        self._pure = False
        self._constants: Constants | None = None

    def start(self) -> None:
        self._left, self._constants = _COMPARED, None
        self._calls.add(self)

    def stop(self) -> None:
        self._calls.remove(self)

    def call(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        if not self.is_armed:
            return original(function, *args, **kwds)
        if not self._left and self.is_on:
            changed = self._constants.find_change() if self._constants is not None else ""
            if not changed:
                return self._attempt(original, function, args, kwds)
            self.roll_back(f"{changed} has changed, and the compiled function has its old value built in.")
            return original(function, *args, **kwds)
        # One thread tries it; the others, and calls from inside of the trial, go on as before.
        if not self._trial.acquire(blocking=False):
            return original(function, *args, **kwds)
        try:
            return self._try(original, function, args, kwds)
        finally:
            self._trial.release()

    def _try(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        if self._constants is None:
            try:
                python = getattr(function, "_python_function", None)
                if effect := find_effect(python, self._is_library):
                    raise Refused(f"The body of {self.symbol} {effect}, which each trace does again.")
                constants = Constants(python)
                if name := constants.find_container():
                    raise Refused(f"{self.symbol} may read {name}, which may change between two traces.")
                self._pure = self._check(function, args, kwds)
                self._constants = constants
            except Exception as error:
                let_through(error)
                self.refuse(_sentence(error))
                return original(function, *args, **kwds)
        if not self._pure:
            self._left = 0
            self.confirm("Results are not compared: the function changes state, so it cannot run twice.")
            return self._attempt(original, function, args, kwds)
        right = original(function, *args, **kwds)
        try:
            with off_the_tape():
                result = self._fixed(original, function, args, kwds)
            same = are_same(right, result)
        except Exception as error:
            let_through(error)
            self.roll_back(_sentence(error))
            return right
        if not same:
            self.roll_back(f"The results of {self.symbol} differed.")
            return right
        self._left -= 1
        self.compared = True
        self.confirm(f"Same results as without the fix, within {TOLERANCE:g}.")
        return right

    def _attempt(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        """Make a call with the fix; if that fails before anything has run, without it."""
        try:
            return self._fixed(original, function, args, kwds)
        except Exception as error:
            let_through(error)
            self.roll_back(_sentence(error))
            if ran(error) and not self._pure:
                raise
        return original(function, *args, **kwds)

    def _check(self, function: Any, args: tuple[Any, ...], kwds: Any) -> bool:
        """Trace what is needed; return whether a call changes nothing. Raise `Refused` if it cannot work."""
        return check_pure(function.get_concrete_function(*args, **kwds))

    def _fixed(self, original: Original, function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        raise NotImplementedError


def _sentence(error: Exception) -> str:
    if isinstance(error, Refused):
        return str(error)
    text = " ".join(str(error).split())
    return f"It failed with {type(error).__name__}: {text[:150]}{'…' if len(text) > 150 else ''}"
