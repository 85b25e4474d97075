"""Explains why a tf.function was traced again: the difference to the nearest cached trace, by argument.

It reads TensorFlow's trace types by names and attributes only, so that a version that moves them costs the
explanation, never the program.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from ...code.ownership import MOST_LAYERS, code_of, function_of
from ...protocol.events import Reason
from ...protocol.names import (
    REASON_DTYPE,
    REASON_FIRST,
    REASON_NEW_CONTEXT,
    REASON_NEW_INSTANCE,
    REASON_OBJECT,
    REASON_PYTHON_VALUE,
    REASON_RECREATED,
    REASON_SECOND,
    REASON_SHAPE,
    REASON_STRUCTURE,
    TraceReason,
)
from ...safety.signal_handlers import let_through
from .places import Traced

#: Cached traces that are compared, newest first: a function with more has long been explained.
_NEAREST_OF = 64
_LONGEST = 100
#: Code objects that are remembered, and functions of each.
_REMEMBERED = 10_000


class Explainer:
    """Remembers which function traced which code, to distinguish a new function from a new argument."""

    def __init__(self) -> None:
        self._caches: dict[int, tuple[CodeType, set[int]]] = {}
        self._open: dict[int, list[tuple[Any, Any]]] = {}
        """By thread, the functions being traced, with their types: one that calls itself has no cache yet."""

    def explain(self, begun: Traced) -> tuple[Reason, ...]:
        function, function_type = function_of(begun.python_function), begun.type
        being_traced = self._open.setdefault(get_ident(), [])
        around = [known for other, known in being_traced if other is function]
        being_traced.append((function, function_type))
        if begun.known:
            return _nearest(function_type, begun.known[-_NEAREST_OF:], begun.scope)
        if around:
            itself = Reason("", REASON_NEW_CONTEXT, "", "calls itself while it is traced")
            return tuple(_differences(around[-1], function_type)) or (itself,)
        return (self._first(begun),)

    def done(self) -> None:
        """Record that the latest trace on this thread has ended."""
        being_traced = self._open.get(get_ident())
        if being_traced:
            being_traced.pop()
        if not being_traced:
            self._open.pop(get_ident(), None)

    def _first(self, begun: Traced) -> Reason:
        """Explain the first trace of this function; its code may have been traced before."""
        code = code_of(begun.python_function)
        if code is None:
            return Reason("", REASON_FIRST, "", "")
        if id(code) not in self._caches and len(self._caches) >= _REMEMBERED:
            return _first_trace(begun.type)
        _, caches = self._caches.setdefault(id(code), (code, set()))
        earlier = len(caches)
        if earlier < _REMEMBERED:
            caches.add(id(begun.cache) if begun.cache is not None else 0)
        if not earlier:
            return _first_trace(begun.type)
        owner = _owner(begun.python_function)
        # Ids of dead caches are reused, so this is a lower bound.
        count = f"number {earlier + 1} made from the same code"
        if owner:
            return Reason("self", REASON_NEW_INSTANCE, f"another {owner}", count)
        return Reason("", REASON_RECREATED, "an earlier function", count)


def _first_trace(function_type: Any) -> Reason:
    """Say what a function was called with the first time."""
    parameters = dict(function_type.parameters)
    called_with = _cut(", ".join(f"{name}: {_kind(kind)}" for name, kind in parameters.items()))
    sizes = (_batch_size(_type(kind)) for kind in parameters.values())
    return Reason(
        "", REASON_FIRST, "", called_with, batch_sizes=tuple(size for size in sizes if size is not None)
    )


def _batch_size(kind: Any) -> int | None:
    """Read the first dimension of a tensor's type; None for what has none, or an unknown one."""
    shape = getattr(kind, "shape", None)
    rank = getattr(shape, "rank", None)
    size = shape[0] if rank else None  # type: ignore[index]
    return size if type(size) is int else None


def _owner(function: Any) -> str:
    """Name the class of the instance that a method is bound to, through TensorFlow's decorators."""
    for _ in range(MOST_LAYERS):
        instance = getattr(function, "__self__", None)
        if instance is not None:
            target = getattr(instance, "weakrefself_target__", None)
            held = target() if target is not None else instance
            return type(held).__name__
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            return ""
        function = inner
    return ""


def _nearest(wanted: Any, cached: Sequence[tuple[Any, Any]], scope: object) -> tuple[Reason, ...]:
    best: list[Reason] | None = None
    contexts = []
    for context, known in reversed(cached):
        reasons = list(_differences(known, wanted))
        if not reasons:
            contexts.append(context)
        elif best is None or len(reasons) < len(best):
            best = reasons
    if contexts:
        # The same arguments are cached already: what differs is around the call.
        if all(getattr(context, "scope_type", scope) != scope for context in contexts):
            return (Reason("", REASON_SECOND, "creates variables", "uses them"),)
        return (Reason("", REASON_NEW_CONTEXT, "", "another graph, device or strategy around the call"),)
    return tuple(best or (Reason("", REASON_NEW_CONTEXT, "", ""),))


def _differences(before: Any, after: Any) -> Iterator[Reason]:
    old, new = dict(before.parameters), dict(after.parameters)
    for name in [*old, *(n for n in new if n not in old)]:
        if name not in new or name not in old:
            before_given, after_given = (
                _kind(some[name]) if name in some else "not given" for some in (old, new)
            )
            yield Reason(name, REASON_STRUCTURE, before_given, after_given)
        else:
            yield from _compare(name, _type(old[name]), _type(new[name]))
    captured_before, captured_after = dict(before.captures), dict(after.captures)
    for name in captured_after:
        if name in captured_before:
            yield from _compare(f"captured {name}", captured_before[name], captured_after[name])


def _type(parameter: Any) -> Any:
    return getattr(parameter, "type_constraint", parameter)


def _kind(parameter: Any) -> str:
    return describe(_type(parameter))


def _compare(name: str, a: Any, b: Any) -> Iterator[Reason]:
    if a is b or a == b:
        return
    kinds = type(a).__name__, type(b).__name__
    if "Literal" in kinds:
        # Also a Python value where a tensor was, or the other way round.
        yield _difference(name, REASON_PYTHON_VALUE, a, b)
    elif kinds[0] != kinds[1]:
        yield _difference(name, REASON_STRUCTURE, a, b)
    elif kinds[0] == "Weakref":
        yield _difference(name, REASON_OBJECT, a, b)
    elif (parts := _parts(a)) is not None and (others := _parts(b)) is not None:
        if list(parts) != list(others):
            yield Reason(name, REASON_STRUCTURE, _outline(a, parts), _outline(b, others))
        else:
            for key, part in parts.items():
                yield from _compare(f"{name}{key}", part, others[key])
    elif hasattr(a, "element_spec"):
        yield from _compare(f"{name} elements", a.element_spec, b.element_spec)
    else:
        yield from _compare_specs(name, a, b)


def _difference(name: str, cause: TraceReason, before: Any, after: Any) -> Reason:
    return Reason(
        name,
        cause,
        describe(before),
        describe(after),
        before_class=_class_name(before),
        after_class=_class_name(after),
        before_dtype=_dtype_name(before),
        after_dtype=_dtype_name(after),
    )


def _class_name(kind: Any) -> str:
    """Name the class of a Python value or object; empty for anything else, and for what is gone."""
    held = kind.value if type(kind).__name__ == "Literal" else None
    if type(kind).__name__ == "Weakref":
        held = kind._ref()
    return "" if held is None else type(held).__name__


def _dtype_name(kind: Any) -> str:
    dtype = getattr(kind, "dtype", None)
    return "" if dtype is None else str(getattr(dtype, "name", dtype))


def _compare_specs(name: str, a: Any, b: Any) -> Iterator[Reason]:
    found = False
    if getattr(a, "dtype", None) != getattr(b, "dtype", None):
        found = True
        yield _difference(name, REASON_DTYPE, a, b)
    shapes = getattr(a, "shape", None), getattr(b, "shape", None)
    if str(shapes[0]) != str(shapes[1]):
        found = True
        yield _difference(name, REASON_SHAPE, a, b)
    if not found and not _fits(a, b):
        cause = REASON_OBJECT if hasattr(a, "alias_id") else REASON_STRUCTURE
        yield _difference(name, cause, a, b)


def _fits(a: Any, b: Any) -> bool:
    try:
        return bool(b.is_subtype_of(a))
    except Exception as error:
        let_through(error)
        return False


def _parts(kind: Any) -> dict[str, Any] | None:
    """Return the components of a container type, by the expression that reaches them."""
    name = type(kind).__name__
    if name == "Tuple":
        return {f"[{i}]": part for i, part in enumerate(kind.components)}
    if name == "List":
        return {f"[{i}]": part for i, part in enumerate(kind.components_tuple.components)}
    if name == "Dict":
        return {f"[{key!r}]": part for key, part in kind.mapping.items()}
    if name in ("NamedTuple", "Attrs"):
        names = getattr(kind, "attribute_names", None)
        if names is None:
            named = kind.named_attributes
            names, parts = named.attribute_names, named.attributes.components
        else:
            parts = kind.attributes.components
        return {f".{key}": part for key, part in zip(names, parts, strict=True)}
    if name in ("tuple", "list"):  # an iterator's element_spec is made of plain containers
        return {f"[{i}]": part for i, part in enumerate(kind)}
    if name == "dict":
        return {f"[{key!r}]": part for key, part in kind.items()}
    return None


def _outline(kind: Any, parts: dict[str, Any]) -> str:
    name = type(kind).__name__.lower()
    if name in ("dict", "namedtuple", "attrs"):
        return _cut(f"{name} with {', '.join(key.strip('[].') for key in parts) or 'nothing'}")
    return f"{name} of {len(parts)}"


def describe(kind: Any) -> str:
    name = type(kind).__name__
    if name == "Literal":
        value = kind.value
        return "None" if value is None else _cut(f"{type(value).__name__} {value!r}")
    if name == "Weakref":
        held = kind._ref()
        return "an object that is gone" if held is None else f"{type(held).__name__} object {id(held):#x}"
    parts = _parts(kind)
    if parts is not None:
        return _outline(kind, parts)
    dtype, shape = getattr(kind, "dtype", None), getattr(kind, "shape", None)
    if dtype is not None and shape is not None:
        word = "" if name == "TensorSpec" else f"{name.removesuffix('Spec').removesuffix('Tensor').lower()} "
        return _cut(f"{word}{_dtype_name(kind)} {shape}")
    return _cut(str(kind))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
