"""What the body of a function does in Python, where that matters for a fix that traces it less often.

A trace runs the Python code of the function. A fix that saves traces also saves what that code does besides
building a graph, so a function with such effects is left alone.
"""

from __future__ import annotations

import dis
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..code.ownership import MOST_LAYERS, function_of

#: Calls by which Python code affects something outside of itself.
_EFFECTS = {
    "print": "prints",
    "input": "reads input",
    "open": "opens a file",
    "append": "appends to a list",
    "extend": "extends a list",
    "insert": "inserts into a list",
    "setdefault": "changes a dict",
    "popitem": "changes a dict",
    "write": "writes to a file",
    "numpy": "needs the value of a tensor in Python (.numpy())",
    "logging": "logs",
}
#: Modules whose functions return something else at each call.
_CHANGING = {"random": "random", "time": "time", "datetime": "datetime"}
#: How far calls of the user's own functions are followed.
_DEPTH = 3
#: Python values that are constants to a trace, so that a new value needs a new trace.
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))
_MUTABLE = (list, dict, set, bytearray)
#: Packages whose objects keep to themselves what changes: variables do, and are no constants.
_LIBRARIES = ("tensorflow", "keras", "tf_keras", "builtins", "functools", "weakref", "threading")
_NO_STATE = (FunctionType, ModuleType, type)


def find_effect(function: Any, is_library: Callable[[str], bool]) -> str:
    """Return what the function's Python code does besides building a graph, as a verb; empty if nothing."""
    return next(_effects(function_of(function), is_library, _DEPTH), "")


def _effects(function: Any, is_library: Callable[[str], bool], depth: int) -> Iterator[str]:
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or not isinstance(code, CodeType):
        return
    yield from _code_effects(code)
    for name, value in names_read(function):
        root = getattr(value, "__name__", "") if isinstance(value, ModuleType) else ""
        if root in _CHANGING:
            yield f"uses the module {root}"
        elif root == "numpy" and "random" in code.co_names and name in code.co_names:
            if _reads(code, name, "random"):
                yield "uses numpy.random"
        elif root == "logging" or type(value).__module__ == "logging":
            yield "logs"
        elif isinstance(value, FunctionType) and depth and not is_library(value.__code__.co_filename):
            yield from _effects(value, is_library, depth - 1)


def _code_effects(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        name, what = instruction.opname, str(instruction.argval)
        if name == "STORE_GLOBAL":
            yield f"sets the global variable {what}"
        elif name == "STORE_DEREF" and what in code.co_freevars:
            yield f"sets the variable {what} of an outer function"
        elif name == "STORE_ATTR":
            yield f"sets the attribute {what}"
        elif name == "STORE_SUBSCR":
            yield "stores into a container"
        elif name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_METHOD", "LOAD_ATTR") and what in _EFFECTS:
            yield _EFFECTS[what]
        elif name in ("YIELD_VALUE", "IMPORT_NAME"):
            yield "yields" if name == "YIELD_VALUE" else f"imports {what}"
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _code_effects(const)


def _reads(code: CodeType, name: str, attribute: str) -> bool:
    before = ""
    for instruction in dis.get_instructions(code):
        what = str(instruction.argval)
        if before == name and what == attribute:
            return True
        before = what
    return False


def names_read(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Iterate over the globals and the captured variables that a function reads, with their values."""
    code = function.__code__
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:
            pass  # not set yet


def _objects(function: Any) -> Iterator[Any]:
    """Iterate over the objects that a function is bound to, or that wrappers around it hold."""
    for _ in range(MOST_LAYERS):
        owner = getattr(function, "__self__", None)
        if owner is not None:
            yield owner
        for cell in getattr(function, "__closure__", None) or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # not set yet
            yield value() if isinstance(value, weakref.ref) else value
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return


def _state(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Iterate over what a trace may build in of a value: itself, or what is in the attributes of an object.

    An array or a container stands for itself here: whether its content changes is not known.
    """
    if type(value) in _CONSTANTS or isinstance(value, _MUTABLE) or type(value).__module__ == "numpy":
        yield name, value
    elif depth and type(value).__module__.partition(".")[0] not in _LIBRARIES:
        for attribute, content in list(getattr(value, "__dict__", {}).items()):
            yield from _state(f"{name}.{attribute}", content, depth - 1)


class Constants:
    """The Python values around a function that a trace turns into constants, as they are now."""

    def __init__(self, function: Any) -> None:
        inner = function_of(function)
        self._function = inner if isinstance(inner, FunctionType) else None
        self._objects = [o for o in _objects(function) if not isinstance(o, (FunctionType, ModuleType, type))]
        self._values = self._read()

    def _read(self) -> list[tuple[str, Any]]:
        if self._function is None:
            return []
        found = [(n, v) for n, v in names_read(self._function) if type(v) in _CONSTANTS]
        held = [("self", o) for o in self._objects]
        held += [(n, v) for n, v in names_read(self._function) if not isinstance(v, _NO_STATE)]
        for name, value in held:
            found += [item for item in _state(name, value, _DEPTH) if item[0] != name]
        return found

    def find_container(self) -> str:
        """Return the name of a container in an object that the function reads; empty if there is none."""
        return next(
            (name for name, value in self._values if type(value) not in _CONSTANTS and value is not None), ""
        )

    def find_change(self) -> str:
        """Return the name of one that has changed since; empty if none has."""
        now = self._read()
        if len(now) == len(self._values):
            pairs = zip(now, self._values, strict=True)
            return next((n for (n, v), (_, old) in pairs if v is not old and v != old), "")
        return "a global variable"


def find_mutable(function: Any) -> str:
    """Return the name of a container that the function reads from outside; empty if there is none."""
    inner = function_of(function)
    if not isinstance(inner, FunctionType):
        return ""
    for name, value in names_read(inner):
        if isinstance(value, _MUTABLE) or type(value).__module__ == "numpy":
            return name
    return ""
