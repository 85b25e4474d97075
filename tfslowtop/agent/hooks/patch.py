"""Installs a wrapper in place of a function, and removes it again.

A wrapper looks like what it wraps: name, documentation, signature, and even the file of its code, because
TensorFlow and Keras decide by file name which frames they show to the user.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


#: The code flags of functions with *args or **kwds.
_STARRED = 0x4 | 0x8
#: The code of a function with a prefix; the strings are replaced by the functions themselves.
_PREFIXED = """
def _({0}):
    _first = "first"
    _then = "then"
    _first()
    try:
        return _then({0})
    except BaseException as _error:
        _hide_wrapper_frame = "hide_wrapper_frame"
        _hide_wrapper_frame(_error)
        raise
"""


class MissingTarget(Exception):  # noqa: N818  it is an answer, not a failure
    """A hook did not find what it wants to wrap."""


class Patch:
    def __init__(self, owner: Any, name: str, wrap: Wrap) -> None:
        if not hasattr(owner, name):
            raise MissingTarget(f"{getattr(owner, '__name__', owner)}.{name}")
        self._owner, self._name = owner, name
        self._inherited = name not in vars(owner)
        self._kept = vars(owner).get(name)
        self._original = getattr(owner, name)
        self._wrapper: Callable[..., Any] | None = None
        self.active = False
        self.install(wrap)

    def install(self, wrap: Wrap) -> None:
        """Install this wrapper, instead of the one before."""
        self.off()
        self._wrapper = wrap(self._original)
        copy_metadata(self._wrapper, self._original)
        self.on()

    @property
    def code(self) -> CodeType | None:
        """The code of the wrapper, by which its frames are recognised."""
        return getattr(self._wrapper, "__code__", None)

    def on(self) -> None:
        setattr(self._owner, self._name, self._wrapper)
        self.active = True

    def off(self) -> None:
        """Restore the original, unless somebody else has replaced the wrapper meanwhile."""
        if self.active and vars(self._owner).get(self._name) is self._wrapper:
            if self._inherited:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, self._kept)
        self.active = False


class Prefix:
    """Puts a call before a plain function, also where that function has already been imported.

    The function gets other code: a wrapper would have to be installed wherever the function is referenced.
    """

    def __init__(self, function: FunctionType, first: Callable[[], None]) -> None:
        code = function.__code__
        if code.co_kwonlyargcount or code.co_freevars or code.co_flags & _STARRED:
            raise MissingTarget(f"plain function {code.co_name}")
        text = _PREFIXED.format(", ".join(code.co_varnames[: code.co_argcount]))
        consts = compile(text, code.co_filename, "exec").co_consts
        made = next(const for const in consts if isinstance(const, CodeType))
        then = FunctionType(code, function.__globals__, code.co_name, function.__defaults__)
        ours = {"first": first, "then": then, "hide_wrapper_frame": hide_wrapper_frame}
        self._function, self._code = function, code
        self._prefixed = made.replace(
            co_consts=tuple(ours.get(const, const) for const in made.co_consts),
            co_name=code.co_name,
            co_firstlineno=code.co_firstlineno,
        )
        self.active = False
        self.on()

    def on(self) -> None:
        self._function.__code__ = self._prefixed
        self.active = True

    def off(self) -> None:
        if self._function.__code__ is self._prefixed:
            self._function.__code__ = self._code
        self.active = False


def copy_metadata(wrapper: Callable[..., Any], original: Callable[..., Any]) -> None:
    functools.update_wrapper(wrapper, original)
    if isinstance(original, FunctionType) and not hasattr(original, "__wrapped__"):
        # Keras inspects with getfullargspec, which does not look behind wrappers.
        wrapper.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    if str(wrapper.__module__).startswith("tf_keras."):
        # AutoGraph never converts code of TensorFlow's or of `keras`, but it tries code of tf_keras: it would
        # find the source of the original behind the wrapper, fail, and print a warning.
        wrapper.__module__ = "tensorflow"
    code = getattr(original, "__code__", None) or getattr(inspect.unwrap(original), "__code__", None)
    if code is not None and isinstance(wrapper, FunctionType):
        wrapper.__code__ = wrapper.__code__.replace(
            co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=code.co_firstlineno
        )


def hide_wrapper_frame(error: BaseException) -> None:
    """Remove the wrapper's own frame from a traceback that passes through it; a bare `raise` follows.

    From Python 3.11 on, a re-raise takes the traceback from the exception itself, so the frame stays out.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next
