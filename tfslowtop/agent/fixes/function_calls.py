"""Puts fixes in the way of calls of tf.functions, while there is at least one fix, and only then."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..code.ownership import code_of
from ..hooks.patch import Patch, hide_wrapper_frame
from ..hooks.tracing_state import eager
from .base import FunctionFix, Refused

MODULE = "tensorflow.python.eager.polymorphic_function.polymorphic_function"


class FunctionCalls:
    """Wraps `Function._call`, which `Function.__call__` and so our own timing of calls are around."""

    def __init__(self) -> None:
        self._fixes: dict[CodeType | None, tuple[FunctionFix, ...]] = {}
        """By code; under None, those for every function."""
        self._patch: Patch | None = None

    def add(self, fix: FunctionFix) -> None:
        owner = getattr(sys.modules.get(MODULE), "Function", None)
        if owner is None or not hasattr(owner, "_call"):
            raise Refused("This version of TensorFlow calls its functions in an unknown way.")
        if fix not in (present := self._fixes.get(fix.code, ())):
            self._fixes[fix.code] = (*present, fix)
        if self._patch is None:
            self._patch = Patch(owner, "_call", self._wrap)

    def remove(self, fix: FunctionFix) -> None:
        left = tuple(other for other in self._fixes.get(fix.code, ()) if other is not fix)
        if left:
            self._fixes[fix.code] = left
        else:
            self._fixes.pop(fix.code, None)
        if not self._fixes and self._patch is not None:
            self._patch.off()
            self._patch = None

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        fixes = self._fixes

        def _call(function: Any, *args: Any, **kwds: Any) -> Any:
            try:
                code = code_of(getattr(function, "_python_function", None)) if fixes else None
                # A function that is called while another one is traced is part of that one.
                found = (*fixes.get(None, ()), *fixes.get(code, ())) if code is not None and eager() else ()
                call = original
                for fix in found:
                    call = _through(fix, call)
                return call(function, *args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise

        return _call


def _through(fix: FunctionFix, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(function: Any, *args: Any, **kwds: Any) -> Any:
        return fix.call(original, function, args, kwds)

    return call
