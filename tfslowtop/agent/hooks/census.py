"""What stays alive: a count of the live tensors and objects, and who holds them.

A count goes through every object of the collector and holds the interpreter while it does, so one is taken
only when memory has grown by much while the steps go by, and never more often than costs a fraction.

The list of all objects has some that are just being made: a tuple whose owner relies on having the only
reference, an EagerTensor without its handle. From another thread such a count crashed programs, and so did
`gc.get_referrers` from any. So it is made on the main thread, between two bytecodes, every reference is gone
when that thread goes on, and only containers that were there at the count before are looked into.

It is not among the hooks of `attach` yet: watching must do no harm, and this has not been put under stress on
every Python and TensorFlow that we support.
"""

from __future__ import annotations

import ctypes
import gc
import linecache
import os
import re
import sys
import time
from collections import Counter, deque
from types import ModuleType
from typing import Any

from ..kit import REMOVED, Kit
from ..loops import Loop
from .hook import Hook

#: Turns of some loop before memory counts: what is built before belongs to the program.
_TURNS = 20
#: Growth since the last count that makes another one worth it, in bytes.
_GROWTH = 12 << 20
#: A count may take this share of the time, and there are this many at most.
_SHARE = 0.02
_MOST = 12
_LARGE = 30
_LOOKED_AT = 8
_CONTAINERS = (list, dict, set, deque)
_PATIENCE = 5_000_000_000
#: A call that is pending is made later, whatever has become of the hook.
_KEPT: list[Any] = []
_CALLBACK: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p) if hasattr(ctypes, "pythonapi") else None
_GROWS = r"\.(?:append|extend|appendleft|insert|add|setdefault|update)\s*\(|\s*\+=|\s*\[[^\]]*\]\s*="


class CensusHook(Hook):
    title = "what stays alive"

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._next = self._rss = self._counts = 0
        self._types: Counter[type] = Counter()
        self._sizes: dict[int, int] = {}
        self._call: Any = _CALLBACK(self._called) if _CALLBACK is not None else None
        _KEPT.append(self._call)
        self._page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

    def tick(self, now: int) -> None:
        if now < self._next or self._counts >= _MOST or "tensorflow" not in sys.modules:
            return
        self._next = now + 500_000_000
        if max((loop.count for loop in self.kit.tracker.loops), default=0) < _TURNS:
            return
        rss = self._resident()
        if self._rss and rss < self._rss + _GROWTH:
            return
        self._rss = rss
        self._counts += 1
        self._next = now + _PATIENCE  # until it has been made
        if self._call is not None:
            ctypes.pythonapi.Py_AddPendingCall(self._call, None)

    def _called(self, _: object) -> int:
        """On the main thread, between two of its bytecodes."""
        try:
            if self.kit.quiet[0] < REMOVED:
                start = time.perf_counter_ns()
                self._count(start)
                took = time.perf_counter_ns() - start
                # The second count is what the first is for: it may come sooner.
                self._next = start + int(took / (_SHARE if self._counts > 3 else 5 * _SHARE))
        except Exception as error:
            self.kit.oops(error)
        return 0

    def _resident(self) -> int:
        try:
            with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
                return int(file.read().split()[1]) * self._page
        except OSError:
            return 0

    def _count(self, now: int) -> None:
        eager: Any = getattr(sys.modules.get("tensorflow.python.framework.ops"), "EagerTensor", None)
        objects = gc.get_objects()
        types = Counter(map(type, objects))
        sizes = {id(o): len(o) for o in objects if type(o) in _CONTAINERS and len(o) >= _LARGE}
        # What was there at the last count and has grown is whole and lives on: it can be looked into.
        before = self._sizes
        grown = {i: n - before[i] for i, n in sizes.items() if n - before.get(i, n) >= _LARGE}
        most = sorted(grown, key=lambda i: -grown[i])[:_LOOKED_AT]
        found = {id(o): o for o in objects if id(o) in most and type(o) in _CONTAINERS}
        del objects
        count = types[eager] if eager is not None else 0
        self.kit.gauge("live tensors", now, count)
        self.kit.gauge("live objects", now, sum(types.values()))
        holders = [(o, _newest(o, eager)) for o in (found[i] for i in most if i in found)]
        tensors = [(o, tensor) for o, tensor in holders if tensor is not None]
        if before and tensors and count - self._types[eager] >= _LARGE:
            size = max(t.dtype.size * (t.shape.num_elements() or 0) for _, t in tensors) * len(tensors[0][0])
            self.kit.gauge("live tensor bytes", now, size)
            largest = max(tensors, key=lambda pair: pair[1].dtype.size * (pair[1].shape.num_elements() or 0))[
                0
            ]
            self._place("kept-tensor", _name_of(largest), type(largest).__name__, count)
        elif before:
            own = [(o, _name_of(o)) for o, _ in holders]
            named = [(o, name) for o, name in own if name] or own[:1]
            for o, name in named[:1]:
                self._place("kept-object", name, type(o).__name__, len(o))
        self._types, self._sizes = types, sizes

    def _place(self, what: str, name: str, kind: str, count: int) -> None:
        """The line that makes it grow: by its name, in the loop that goes round."""
        loops = [loop for loop in self.kit.tracker.loops if loop.count >= _TURNS]
        files = {loop.file for loop in loops}
        short = name.rpartition(".")[2]
        pattern = re.compile(
            (rf"\b{re.escape(short)}" if short else r"\b([A-Za-z_][\w.]*)") + f"(?:{_GROWS})"
        )
        for file in files:
            lines = linecache.getlines(file)
            found = [(n, pattern.search(text)) for n, text in enumerate(lines, 1)]
            hits = [(n, hit) for n, hit in found if hit and lines[n - 1][:1] in " \t"]
            if hits:
                line, hit = _innermost(hits, loops)
                label = name or (hit.group(1) if hit.groups() else "")
                self.kit.tallies.put(what, f"{label}|{kind}", file, line, count)
                return
        self.kit.tallies.put(what, f"{name}|{kind}", "", 0, count)

    def place(self, module: ModuleType) -> None:
        pass


def _innermost(hits: list[Any], loops: list[Loop]) -> Any:
    """Behind the header of a loop that goes round, and near it, if there is one."""
    after = [h for h in hits if any(loop.line < h[0] for loop in loops)]
    return min(after or hits, key=lambda h: min((abs(h[0] - loop.line) for loop in loops), default=0))


def _newest(container: Any, kind: Any, depth: int = 0) -> Any:
    """The tensor that was put in last, or that lies in what was put in last."""
    if type(container) is dict:
        item = next(reversed(container.values()), None)
    elif type(container) in (list, tuple, deque):
        item = container[-1] if container else None
    else:
        item = next(iter(container), None) if type(container) is set else None
    if kind is not None and type(item) is kind:
        return item
    return _newest(item, kind, depth + 1) if depth < 3 and type(item) in (*_CONTAINERS, tuple) else None


def _name_of(container: Any) -> str:
    """What the program calls it: a global, an attribute of a global, or an entry of either."""
    module = sys.modules.get("__main__")
    for name, value in list(vars(module).items()) if module is not None else ():
        if value is container:
            return name
        inside = value if type(value) is dict else getattr(value, "__dict__", None)
        if type(inside) is not dict or isinstance(value, (type, ModuleType)) or callable(value):
            continue
        for key, part in list(inside.items()):
            if part is container:
                return f"{name}.{key}"
            if type(part) is dict and any(entry is container for entry in list(part.values())):
                return f"{name}.{key}"
    return ""
