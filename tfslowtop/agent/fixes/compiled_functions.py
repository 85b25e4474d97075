"""Compiles tf.functions although `tf.config.run_functions_eagerly(True)` is set."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..safety.signal_handlers import let_through
from ..safety.weak_table import WeakTable
from .base import FunctionFix, Refused
from .body import find_effect
from .function_calls import MODULE, FunctionCalls
from .graphs import TOLERANCE, are_same, check_pure, off_the_tape, ran

_SWITCH = "tensorflow.python.eager.polymorphic_function.eager_function_run"
_NAME = "_run_functions_eagerly"


class CompiledFunctions(FunctionFix):
    """The switch itself stays as the program has set it; each function decides whether it obeys."""

    kind = "compiled"

    def __init__(self, calls: FunctionCalls, is_library: Callable[[str], bool]) -> None:
        super().__init__("compile tf.functions again (run_functions_eagerly off)", "eager-step", None, "")
        self._calls, self._is_library = calls, is_library
        self._pure: WeakTable[bool | None] = WeakTable()
        """By function: None before its first call, then whether a call changes nothing."""
        self._left_alone: WeakTable[None] = WeakTable()
        self._kept: Any = None
        self._trial = threading.Lock()

    @staticmethod
    def is_wanted() -> bool:
        return bool(getattr(sys.modules.get(_SWITCH), "RUN_FUNCTIONS_EAGERLY", False))

    def start(self) -> None:
        module: ModuleType | None = sys.modules.get(MODULE)
        owner = getattr(module, "Function", None)
        kept = vars(owner).get(_NAME) if owner is not None else None
        if not isinstance(kept, property):
            raise Refused("This version of TensorFlow has the switch in an unknown place.")
        self._kept = kept
        self._calls.add(self)
        setattr(owner, _NAME, property(self._runs_eagerly))

    def stop(self) -> None:
        owner = getattr(sys.modules.get(MODULE), "Function", None)
        if self._kept is not None and owner is not None:
            setattr(owner, _NAME, self._kept)
        self._kept = None
        self._calls.remove(self)
        self._pure.clear()
        self._left_alone.clear()

    def _runs_eagerly(self, function: Any) -> bool:
        if not self.is_wanted():
            return False
        if not self.is_armed or function in self._left_alone:
            return True
        try:
            if function not in self._pure:
                python = function._python_function
                if effect := find_effect(python, self._is_library):
                    self._leave(function, f"{_name(function)} {effect}, so it stays as it is.")
                    return True
                self._pure[function] = None
            return False
        except Exception as error:
            let_through(error)
            return True

    def _leave(self, function: Any, sentence: str) -> None:
        """Leave one function alone; if it is the only one, the fix is over."""
        self._left_alone[function] = None
        self._pure.pop(function)
        if not len(self._pure):
            self.roll_back(sentence)

    def call(self, original: Callable[..., Any], function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        if not self.is_armed or not self.is_wanted():
            return original(function, *args, **kwds)
        python = function._python_function
        pure = self._pure.get(function, False)
        try:
            if pure is not None:
                return original(function, *args, **kwds)
            if not self._trial.acquire(blocking=False):
                return python(*args, **kwds)
            try:
                pure = check_pure(function.get_concrete_function(*args, **kwds))
                self._pure[function] = pure
            finally:
                self._trial.release()
            if not pure:
                self.confirm("Results are not compared: the function changes state, so it cannot run twice.")
                return original(function, *args, **kwds)
        except Exception as error:
            let_through(error)
            text = " ".join(str(error).split())[:120]
            what = text if isinstance(error, Refused) else f"{type(error).__name__}: {text}"
            self._leave(function, f"{_name(function)} cannot be compiled. {what}")
            if ran(error) and not pure:
                raise
            return python(*args, **kwds)
        right = python(*args, **kwds)
        try:
            with off_the_tape():
                same = are_same(right, original(function, *args, **kwds))
        except Exception as error:
            let_through(error)
            same = False
        if same:
            self.compared = True
            self.confirm(f"Same results as without the fix, within {TOLERANCE:g}.")
        else:
            self._leave(function, f"The results of {_name(function)} differed.")
        return right


def _name(function: Any) -> str:
    return str(getattr(function, "_name", "") or "the function")
