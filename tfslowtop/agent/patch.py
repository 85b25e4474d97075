"""Puts a wrapper in the place of a function, and takes it off again.

A wrapper is dressed as what it wraps: name, documentation, signature, and even the file that its code
claims to be from, because TensorFlow and Keras decide by file name which frames they show to the user.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


class NoPlace(Exception):  # noqa: N818  it is an answer, not a failure
    """A hook did not find what it wants to wrap."""


class Patch:
    def __init__(self, owner: Any, name: str, wrap: Wrap) -> None:
        if not hasattr(owner, name):
            raise NoPlace(f"{getattr(owner, '__name__', owner)}.{name}")
        self._owner, self._name = owner, name
        self._inherited = name not in vars(owner)
        self._kept = vars(owner).get(name)
        original = getattr(owner, name)
        wrapper = wrap(original)
        dress(wrapper, original)
        self._wrapper = wrapper
        self.active = False
        self.on()

    def on(self) -> None:
        setattr(self._owner, self._name, self._wrapper)
        self.active = True

    def off(self) -> None:
        """Puts the original back, unless somebody else has put something else there meanwhile."""
        if vars(self._owner).get(self._name) is self._wrapper:
            if self._inherited:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, self._kept)
        self.active = False


def dress(wrapper: Callable[..., Any], original: Callable[..., Any]) -> None:
    functools.update_wrapper(wrapper, original)
    code = getattr(original, "__code__", None) or getattr(inspect.unwrap(original), "__code__", None)
    if code is not None and isinstance(wrapper, FunctionType):
        wrapper.__code__ = wrapper.__code__.replace(
            co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=code.co_firstlineno
        )


def unseen(error: BaseException) -> None:
    """Takes the wrapper's own frame out of a traceback that passes through it; a bare `raise` follows.

    From Python 3.11 on a re-raise takes the traceback from the exception itself, so the frame stays out.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next
