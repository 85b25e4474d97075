"""What stays alive: a count of the live tensors and objects, and who holds them.

A count goes through every object of the collector and holds the interpreter while it does, so one is taken
only when memory has grown by much while the steps go by, and never more often than costs a fraction.

The list of all objects has some that are just being made: a tuple whose owner relies on having the only
reference, an EagerTensor without its handle. From another thread such a count crashed programs. So it is made
on the main thread, between two bytecodes, and every reference is gone when that thread goes on; of objects
from the list only types are looked at, and only tensors that lie in a container are asked for anything.
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
_NEWEST = 210
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
        newest = [o for o in objects if type(o) is eager][-_NEWEST::7] if eager is not None else []
        del objects
        count = types[eager] if eager is not None else 0
        self.kit.gauge("live tensors", now, count)
        self.kit.gauge("live objects", now, sum(types.values()))
        if self._types:
            grown = (types - self._types).most_common(1)
            if newest and count - self._types[eager] >= _LARGE:
                self._tell(newest, count)
            elif grown and grown[0][1] >= _LARGE:
                self._tell_large("kept-object", grown[0][0].__name__, grown[0][1])
            else:
                self._tell_large("kept-object", "", 1)
        self._types = types

    def _tell(self, kept: list[Any], count: int) -> None:
        """The container that holds them, from the inside outwards."""
        held = kept
        for _ in range(4):
            holders = [h for h in gc.get_referrers(*held) if h is not held and h is not kept]
            large = [h for h in holders if type(h) in (list, dict, set, deque) and len(h) >= _LARGE]
            large = [h for h in large if not (type(h) is dict and "__builtins__" in h)]
            if large:
                best = max(large, key=len)
                held = holders = []
                size = _bytes_in(best, type(kept[0]), count)
                self.kit.gauge("live tensor bytes", time.perf_counter_ns(), size)
                self._place("kept-tensor", _name_of(best, large), type(best).__name__, count)
                return
            held = [h for h in holders if type(h) in (list, tuple, dict, set)][:8]
            if not held:
                break
        self._place("kept-tensor", "", "", count)

    def _tell_large(self, what: str, kind: str, count: int) -> None:
        self._place(what, "", kind, count)

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


def _bytes_in(container: Any, kind: Any, count: int) -> int:
    """What `count` tensors hold, if all are like some that the container has, at whatever depth."""
    total = seen = 0
    todo: list[Any] = list(container.values() if isinstance(container, dict) else container)[:200]
    while todo and seen < 200:
        item = todo.pop()
        if type(item) is kind:
            total += item.dtype.size * (item.shape.num_elements() or 0)
            seen += 1
        elif type(item) in (list, tuple, set):
            todo += list(item)[:20]
        elif type(item) is dict:
            todo += list(item.values())[:20]
    return total * count // seen if seen else 0


def _name_of(container: Any, ours: list[Any]) -> str:
    """What the program calls it: a global, or an attribute of an object."""
    for holder in gc.get_referrers(container):
        if holder is ours:
            continue
        if type(holder) is dict:
            names = [k for k, v in list(holder.items()) if v is container and isinstance(k, str)]
            if names:
                return names[0]
        elif type(type(holder)) is type and type(holder) not in (list, tuple, set):
            values = getattr(holder, "__dict__", None)
            names = [k for k, v in values.items() if v is container] if type(values) is dict else []
            if names:
                return f"{type(holder).__name__}.{names[0]}"
    return ""
