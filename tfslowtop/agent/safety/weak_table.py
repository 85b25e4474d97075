"""Remembers objects of the program for as long as they live."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class WeakTable(Generic[Value]):
    """A value for each of some objects, by identity.

    Like a `weakref.WeakKeyDictionary`, but only C runs when an object dies: Python ignores what a signal
    handler raises in a weak reference's callback.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], Value]] = {}

    def __setitem__(self, thing: Any, value: Value) -> None:
        key = id(thing)
        self._entries[key] = (weakref.ref(thing, functools.partial(self._entries.pop, key)), value)

    def __contains__(self, thing: Any) -> bool:
        return id(thing) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, thing: Any, default: Value) -> Value:
        entry = self._entries.get(id(thing))
        return default if entry is None else entry[1]

    def pop(self, thing: Any) -> None:
        self._entries.pop(id(thing), None)

    def __iter__(self) -> Iterator[Any]:
        return iter([thing for thing, _ in self.items()])

    def items(self) -> list[tuple[Any, Value]]:
        """Return those that live, oldest first."""
        # A copy, because an object may die meanwhile.
        pairs = [(reference(), value) for reference, value in self._entries.copy().values()]
        return [(thing, value) for thing, value in pairs if thing is not None]

    def clear(self) -> None:
        self._entries.clear()
