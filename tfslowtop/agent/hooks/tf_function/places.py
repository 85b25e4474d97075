"""Where TensorFlow makes traces, and what it knows of a trace there.

TensorFlow 2.14 and later have one function for it, which gets everything as arguments. Before that it was a
method of a compiler, of which each tf.function had two: one for the trace in which variables are created, and
one for all others. There, the type of the arguments and the tf.function are variables of the callers.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, NamedTuple

_PACKAGE = "tensorflow.python.eager.polymorphic_function."
#: The function's name in both places; a module, and the class in it, if it is a method.
NAME = "_create_concrete_function"
_COMPILER = _PACKAGE + "tracing_compiler"
PLACES = {_PACKAGE + "tracing_compilation": "", _COMPILER: "TracingCompiler"}

#: The module of tf.function itself, which calls the compiler.
_FUNCTION = _PACKAGE + "polymorphic_function"

#: Callers of the compiler's method that are searched for the tf.function.
_NEAR = 8
_COMPILERS = ("_variable_creation_fn", "_no_variable_creation_fn")


class Traced(NamedTuple):
    """A trace that begins."""

    python_function: Any
    name: str
    type: Any
    """The types of the arguments."""
    cache: object
    """An object that belongs to this tf.function alone: its cache of traces, or itself."""
    known: tuple[tuple[Any, Any], ...]
    """Its earlier traces: whether another scope was around the call, by a context, and their types."""
    scope: object
    attributes: Mapping[str, Any]


class _OtherCompiler:
    scope_type = "the one for variables"


def from_options(function_type: Any, _context: Any, _graph: Any, options: Any) -> Traced:
    """Read the arguments that 2.14 and later pass."""
    cache = options.function_cache
    return Traced(
        options.python_function,
        str(options.name or "function"),
        function_type,
        cache,
        () if cache is None else tuple(cache._primary),
        options.scope_type,
        options.attributes or {},
    )


def from_compiler(compiler: Any, *_arguments: Any) -> Traced:
    """Read what the compiler of 2.12 and 2.13 has, and what its method's callers know."""
    function, function_type = compiler, None
    frame: FrameType | None = sys._getframe()
    for _ in range(_NEAR):
        frame = frame.f_back if frame is not None else None
        module = frame.f_globals.get("__name__") if frame is not None else None
        if frame is not None and module == _COMPILER:
            function_type = frame.f_locals.get("target_func_type", function_type)
        elif frame is not None and module == _FUNCTION:
            function = frame.f_locals.get("self", compiler)
            break
    pair = [each for name in _COMPILERS if (each := getattr(function, name, None)) is not None]
    known = [
        [(None if each is compiler else _OtherCompiler, kind) for _, kind in each._function_cache._primary]
        for each in pair or [compiler]
    ]
    return Traced(
        function._python_function,  # AutoGraph puts its own in place of the compiler's
        str(compiler._name or "function"),
        function_type,
        function,
        tuple(itertools.chain.from_iterable(known)),
        None,
        compiler._function_attributes or {},
    )


def place_of(module: str) -> Any:
    """Return what has the function as an attribute: the module, or a class in it; None if there is none."""
    found: Any = sys.modules.get(module)
    owner = getattr(found, PLACES[module], None) if PLACES[module] else found
    return owner if hasattr(owner, NAME) else None
