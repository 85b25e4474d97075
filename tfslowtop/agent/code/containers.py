"""Scans what the program's own names reach: its containers, how long they are, and what they hold.

Only the built-in types' own methods are used, so none of the program's code runs and nothing changes. The
thread that owns the frames does it: everything stands still meanwhile, and every reference is dropped before
that thread continues.
"""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections import deque
from collections.abc import Container as AbstractContainer
from collections.abc import Iterable, Iterator
from types import (
    CellType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple

from ..safety.signal_handlers import let_through
from .ownership import Ownership

#: Nanoseconds of CPU time after which a scan ends, wherever it is.
_BUDGET = 5_000_000
_DEEP = 5
#: A longer container is measured by its length and newest entry; a shorter one is scanned.
_LONG = 32
#: Up to this length, the containers among its entries are counted together: a list per user, say.
_MANY = 1024
#: Parts of an entry from which its size is estimated.
_LOOKED_AT = 16
#: Levels of an entry that are weighed, and searched for a tape: deeper ones cost time and add little.
_WEIGHED_DEPTH, _TAPE_DEPTH = 3, 2
_CONTAINERS = (list, dict, set, deque)
_OPTIMIZED = 0x1
#: Before Python 3.13 a function's variables are read into a dict that `locals()` shares: a function that uses
#: one of these is skipped.
_SHARED = frozenset({"locals", "vars", "dir", "eval", "exec", "f_locals"})
#: Attributes that Python and TensorFlow add to objects of the user's classes.
_NOT_THEIRS = ("__", "_self_", "_tf_", "_tracker")
_TENSORS = ("EagerTensor", "ResourceVariable")
#: Types are compared by identity: `in` would call the `__eq__` or `__hash__` of the program's metaclass.
_PLAIN = frozenset(map(id, (str, bytes, bytearray, int, float, complex)))
_CACHE = type(functools.lru_cache(lambda: None))
_missing = object()
#: What a class knows of itself, without asking its metaclass.
_dict_of, _module_of, _mro_of, _name_of = (
    vars(type)[name].__get__ for name in ("__dict__", "__module__", "__mro__", "__name__")
)


class Container(NamedTuple):
    name: str
    id: int
    kind: str
    length: int
    bytes: int
    """The approximate size of one entry, the newest."""
    tensor: bool
    """Whether that entry contains a tensor."""
    place: tuple[str, int] | None
    """Where it is filled, if the object itself says so."""
    of: int = 1
    """How many containers are counted together here."""
    bounded: bool = False
    """Whether it has a maximum length."""


class ContainerScan:
    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._end = time.thread_time_ns() + _BUDGET
        self._met: set[int] = set()
        self.found: list[Container] = []
        self.arrays: dict[str, tuple[int, int]] = {}
        """Rows and bytes of NumPy arrays, by name."""
        self.whole = True
        """Whether the scan was completed."""

    def around(
        self, frame: FrameType | None, modules: Iterable[str] = (), held: dict[str, Any] | None = None
    ) -> None:
        """Scan the names of the user's frames from `frame` outwards, of these modules, and the objects in
        `held`."""
        while frame is not None:
            if not self._ownership.is_library(frame.f_code.co_filename):
                if frame.f_code.co_flags & _OPTIMIZED:
                    self._names(variables(frame))
                self._module(frame.f_globals)
            frame = frame.f_back
        for name in modules:
            module = sys.modules.get(name)
            if type(module) is ModuleType:
                self._module(vars(module))
        self._names(held or {})

    def _module(self, names: dict[str, Any]) -> None:
        if id(names) not in self._met:
            self._met.add(id(names))
            self._names(names)

    def _names(self, names: dict[str, Any]) -> None:
        for name, value in names.copy().items():
            if type(name) is str and not name.startswith("__"):
                try:
                    self._visit(value, name, 0)
                except Exception as error:
                    let_through(error)
                    # Otherwise another thread has changed it meanwhile: another scan will see it.

    def _visit(self, value: Any, name: str, depth: int) -> None:
        kind = type(value)
        if id(kind) in _PLAIN or value is None or kind is ModuleType:
            return
        if depth > _DEEP or id(value) in self._met:
            return
        if time.thread_time_ns() > self._end:
            self.whole = False
            return
        self._met.add(id(value))
        if _called(kind) in (
            "ListWrapper",
            "_DictWrapper",
        ):  # TensorFlow's wrapper around a list of a tf.Module
            value = _wrapped(value)
            kind = type(value)
        if issubclass(kind, _CONTAINERS):
            self._container(value, kind, name, depth)
        elif kind is FunctionType:
            self._function(value, depth)
        elif kind is _CACHE:
            self._cache(value, name)
        elif _is_array(kind):
            self.arrays[name] = (value.shape[0] if value.shape else 0, value.nbytes)
        elif kind is GeneratorType:
            self._generator(value)
        elif kind is MethodType:
            self._visit(value.__self__, name, depth)
        else:
            self._object(value, kind, name, depth)

    def _object(self, value: Any, kind: type, name: str, depth: int) -> None:
        """Scan the parts of a tuple, a partial, or an object of the program's own classes."""
        if issubclass(kind, tuple):
            fields = _fields(kind)
            for number in range(min(tuple.__len__(value), _LONG)):
                part = f"{name}.{fields[number]}" if number < len(fields) else f"{name}[{number}]"
                self._visit(tuple.__getitem__(value, number), part, depth + 1)
        elif kind is functools.partial:
            for part in _held(value, kind):
                self._visit(part, name, depth + 1)
        elif kind is SimpleNamespace or self._own(value if issubclass(kind, type) else kind):
            inside = _dict_of(value) if issubclass(kind, type) else attributes(value)
            for key, part in list(inside.items()):
                if type(key) is str and not key.startswith(_NOT_THEIRS):
                    self._visit(part, f"{name}.{key}", depth + 1)

    def _container(self, value: Any, kind: type, name: str, depth: int) -> None:
        length, newest, before = measure(value, kind)
        size, tensor = weigh(newest, but=set(_bases(before))) if length else (0, False)
        if _has_tape(newest):
            size, tensor = 0, True  # what it has recorded cannot be measured
        bounded = _is_bounded(value, kind)
        shown = _shown(value, kind)
        self.found.append(Container(name, id(value), shown, length, size, tensor, None, bounded=bounded))
        if length > _LONG:
            if length <= _MANY and not issubclass(kind, set):
                self._together(value, kind, name)
            return
        if issubclass(kind, dict):
            for key, part in list(dict.items(value)):
                plain = type(key) is str or type(key) is int
                self._visit(part, f"{name}[{key!r}]" if plain else name, depth + 1)
        elif not issubclass(kind, set):
            base: Any = list if issubclass(kind, list) else deque
            for number in range(base.__len__(value)):
                self._visit(base.__getitem__(value, number), f"{name}[{number}]", depth + 1)

    def _together(self, value: Any, kind: type, name: str) -> None:
        """Count the containers among the entries, or among their attributes, as if they were one."""
        found: dict[str, list[Any]] = {}
        base: Any = list if issubclass(kind, list) else deque
        entries = list(dict.values(value) if issubclass(kind, dict) else base.__iter__(value))
        kinds = {id(inner): inner for inner in map(type, entries)}
        own = {number for number, inner in kinds.items() if number not in _PLAIN and self._own(inner)}
        for entry in entries:
            if issubclass(type(entry), _CONTAINERS):
                found.setdefault("", []).append(entry)
            elif id(type(entry)) in own:
                for key, part in list(attributes(entry).items()):
                    if type(key) is str and issubclass(type(part), _CONTAINERS):
                        found.setdefault(f".{key}", []).append(part)
        for suffix, parts in found.items():
            measured = [(*measure(part, type(part))[:2], part) for part in parts]
            longest, newest, part = max(measured, key=lambda m: m[0])
            size, tensor = weigh(newest) if longest else (0, False)
            bounded = _is_bounded(part, type(part))
            shown = _shown(part, type(part)) + ("" if bounded else f" for each of {len(parts)}")
            length = sum(m[0] for m in measured)
            # The positive id stands for the container itself.
            together = f"{name}[...]{suffix}"
            self.found.append(
                Container(together, -id(value), shown, length, size, tensor, None, len(parts), bounded)
            )

    def _cache(self, value: Any, name: str) -> None:
        inner = value.__wrapped__
        inner = inner.__func__ if type(inner) is MethodType else inner
        if type(inner) is FunctionType and not self._ownership.is_library(inner.__code__.co_filename):
            place = (inner.__code__.co_filename, inner.__code__.co_firstlineno)
            length = value.cache_info().currsize
            self.found.append(Container(name, id(value), "lru_cache", length, 0, False, place))

    def _generator(self, value: Any) -> None:
        """Scan the variables of a suspended generator."""
        frame = value.gi_frame
        if (
            frame is not None
            and not value.gi_running
            and not self._ownership.is_library(frame.f_code.co_filename)
        ):
            self._names(variables(frame))

    def _function(self, value: FunctionType, depth: int) -> None:
        """Scan what a closure or a default argument keeps."""
        code = value.__code__
        if self._ownership.is_library(code.co_filename):
            return
        for cell_name, cell in zip(code.co_freevars, value.__closure__ or (), strict=False):
            self._visit(_contents(cell), cell_name, depth + 1)
        defaults = value.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        for argument, default in zip(names, defaults, strict=False):
            self._visit(default, argument, depth + 1)

    def _own(self, kind: type) -> bool:
        """Whether a class belongs to the program."""
        module = sys.modules.get(str(_module_of(kind)))
        file = vars(module).get("__file__") if type(module) is ModuleType else None
        return type(file) is str and not self._ownership.is_library(file)


def own_modules(ownership: Ownership) -> dict[str, str]:
    """Return the user's imported modules and their files. Takes milliseconds; safe on any thread."""
    found = {}
    for name, module in sys.modules.copy().items():
        file = vars(module).get("__file__") if type(module) is ModuleType else None
        if type(file) is str and not ownership.is_library(file):
            found[name] = file
    return found


def variables(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a function's frame on this thread, and leave the frame as it was."""
    code = frame.f_code
    if sys.version_info >= (3, 13):
        return dict(frame.f_locals)
    if sys.gettrace() is not None or not _SHARED.isdisjoint(code.co_names):
        return {}
    shared = frame.f_locals
    result = dict(shared)
    # The frame would keep this dict, and all that is in it, until it ends. Nobody else refers to it.
    if sys.getrefcount(shared) <= 3:
        shared.clear()
    return result


def attributes(value: Any) -> dict[str, Any]:
    """Return an object's own attributes, without asking its class."""
    place = next((d["__dict__"] for d in map(_dict_of, _mro_of(type(value))) if "__dict__" in d), None)
    # A class may have a property of that name, which is the program's code.
    in_c = type(place) is GetSetDescriptorType or type(place) is MemberDescriptorType
    inside = place.__get__(value) if in_c else None  # type: ignore[union-attr]
    slots = _slots(type(value))
    if not slots:
        return inside if type(inside) is dict else {}
    found = dict(inside) if type(inside) is dict else {}
    for name, slot in slots.items():
        try:
            found[name] = slot.__get__(value)
        except AttributeError:
            pass  # not set yet
    return found


def _fields(kind: type) -> tuple[str, ...]:
    """Return the field names of a named tuple."""
    for base in _mro_of(kind):
        names = _dict_of(base).get("_fields")
        if type(names) is tuple:
            return names
    return ()


def _slots(kind: type) -> dict[str, MemberDescriptorType]:
    """Return the slots of its classes; of those written in Python, not in C."""
    return {
        name: part
        for base in _mro_of(kind)
        if "__slots__" in (inside := _dict_of(base))
        for name, part in inside.items()
        if type(part) is MemberDescriptorType
    }


def _shown(value: Any, kind: type) -> str:
    """Name the type of a container; of a deque with its bound, if it has one."""
    return f"deque({value.maxlen})" if _is_bounded(value, kind) else _called(kind)


def _is_bounded(value: Any, kind: type) -> bool:
    return kind is deque and value.maxlen is not None


def _called(kind: type) -> str:
    return str(_name_of(kind))


def _is_array(kind: type) -> bool:
    return _called(kind) == "ndarray" and _module_of(kind) == "numpy"


def _wrapped(value: Any) -> Any:
    inside = attributes(value).get("_storage", _missing)
    return getattr(value, "__wrapped__", None) if inside is _missing else inside


def measure(value: Any, kind: type) -> tuple[int, Any, Any]:
    """Return the length, the newest entry and the one before, by the built-in type's own methods."""
    if issubclass(kind, dict):
        newest, before = [*itertools.islice(reversed(dict.values(value)), 2), None, None][:2]
        return dict.__len__(value), newest, before
    if issubclass(kind, set):
        return set.__len__(value), next(set.__iter__(value), None), None
    base: Any = list if issubclass(kind, list) else deque
    length = base.__len__(value)
    newest, before = [*(base.__getitem__(value, -1 - i) for i in range(min(length, 2))), None, None][:2]
    return length, newest, before


def _has_tape(value: Any, depth: int = 0) -> bool:
    """Whether it contains a tf.GradientTape, which keeps all that it has recorded."""
    kind = type(value)
    if (kind is list or kind is tuple or kind is dict) and depth < _TAPE_DEPTH:
        parts = value.values() if kind is dict else value
        return any(_has_tape(part, depth + 1) for part in itertools.islice(parts, _LOOKED_AT))
    return _called(kind) == "GradientTape"


def _bases(value: Any, depth: int = 0) -> Iterator[int]:
    """Yield the ids of arrays of which it holds parts."""
    kind = type(value)
    if _is_array(kind) and _is_array(type(value.base)):
        yield id(value.base)
    elif (kind is list or kind is tuple) and depth < _WEIGHED_DEPTH:
        for part in value[:_LOOKED_AT]:
            yield from _bases(part, depth + 1)


def weigh(value: Any, depth: int = 0, but: AbstractContainer[int] = ()) -> tuple[int, bool]:
    """Estimate its bytes, and whether it contains a tensor. A view keeps its whole array; arrays in `but` are
    left out, because others keep them as well."""
    kind = type(value)
    if id(kind) in _PLAIN:
        return sys.getsizeof(value), False
    if _called(kind) in _TENSORS:
        return _elements(value), True
    if _is_array(kind):
        whole = _is_array(type(value.base)) and id(value.base) not in but
        return int(value.base.nbytes if whole else value.nbytes) + 112, False
    parts: list[Any] = []
    length = 0
    if depth <= _WEIGHED_DEPTH and (kind is list or kind is tuple or kind is deque):
        length = len(value)
        parts = [value[i] for i in range(min(length, _LOOKED_AT))]
    elif depth <= _WEIGHED_DEPTH and kind is dict:
        length = len(value)
        parts = list(itertools.islice(value.values(), _LOOKED_AT))
    elif depth <= _WEIGHED_DEPTH:
        parts = list(_held(value, kind))[:_LOOKED_AT]
        length = len(parts)
    weights = [weigh(part, depth + 1, but) for part in parts]
    mean = sum(w for w, _ in weights) / len(weights) if weights else 0.0
    return 64 + int((mean + 8) * length), any(tensor for _, tensor in weights)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _missing  # an empty cell


def _held(value: Any, kind: type) -> Iterable[Any]:
    """Return what an object keeps alive; of a function, its closure and defaults."""
    if kind is FunctionType:
        taken = [part for cell in value.__closure__ or () if (part := _contents(cell)) is not _missing]
        return [*taken, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if kind is functools.partial:
        return [value.func, *value.args, *value.keywords.values()]
    return attributes(value).values()


def _elements(tensor: Any) -> int:
    try:
        return int(tensor.dtype.size * (tensor.shape.num_elements() or 0))
    except Exception as error:
        let_through(error)
        return 0
