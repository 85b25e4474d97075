"""What the program keeps: containers of its own that grow while its loops go round, and who fills them.

No list of all objects is ever asked for: it has some that are just being made or dying, and touching those
crashed programs. Here everything is reached by names of the program's own, so it is whole and alive. The look
is taken by the main thread itself, inside a call that a hook has wrapped anyway, or between two instructions
where there are no such calls; every reference is gone when it goes on. No code of the program's runs: sizes
and attributes are read by the built-in types' own methods. There is a first look, and another one for each
further 8 MB of memory; a look ends after 5 ms of its own time.
"""

from __future__ import annotations

import os
import sys
import time
from types import FrameType, ModuleType

from ..code.containers import Kept, Look, own_modules
from ..code.fill_site import grows, last_name
from ..protocol.names import TALLY_GROWN_ARRAY, TALLY_KEPT_OBJECT, TALLY_KEPT_TENSOR
from ..tallies import Details
from .base import Hook
from .context import Kit

#: Turns of some loop before the first look: what is built before belongs to the program.
_TURNS = 20
#: Growth of memory since the last look that makes another one worth it, in bytes.
_GROWTH = 8 << 20
#: Nanoseconds between two looks at least; and looking takes at most this share of the time.
_PAUSE = 1_000_000_000
_SHARE = 0.005
#: Entries that a container has to gain before it is told of.
_LEAST = 10
_TOLD = 3
#: Containers that are remembered when looks are cut short.
_REMEMBERED = 10_000


class KeptHook(Hook):
    title = "what is kept"

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._next = self._rss = 0
        self._first: dict[tuple[str, int], Kept] = {}
        self._arrays: dict[str, int] = {}
        self._seen: Look | None = None
        self._modules: dict[str, str] = {}
        self._imported = 0
        self._page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

    def place(self, module: ModuleType) -> None:
        """Nothing is wrapped: the tracker lets us in."""

    def tick(self, now: int) -> None:
        if self._seen is not None:
            seen, self._seen = self._seen, None
            self._judge(seen)
        tracker = self.kit.tracker
        if now < self._next or tracker.errand is not None:
            return
        self._next = now + _PAUSE // 4
        if self.kit.hooked and max((loop.count for loop in tracker.loops), default=0) < _TURNS:
            return
        rss = self._resident()
        if rss >= self._rss + _GROWTH:
            self._rss = rss
            if len(sys.modules) != self._imported:
                self._imported = len(sys.modules)
                self._modules = own_modules(self.kit.places)
            tracker.errand = self._look

    def remove(self) -> None:
        self.kit.tracker.errand = None
        super().remove()

    def _resident(self) -> int:
        try:
            with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
                return int(file.read().split()[1]) * self._page
        except OSError:
            return self._rss + _GROWTH  # where memory cannot be read, time alone decides

    def _look(self, frame: FrameType | None) -> None:
        """On the main thread, in a hooked call; `frame` is who made it."""
        start, used = time.perf_counter_ns(), time.thread_time_ns()
        look = Look(self.kit.places)
        lent = ((name, reference()) for name, reference in self.kit.lent.copy().items())
        look.around(frame, self._modules, {name: value for name, value in lent if value is not None})
        took = time.thread_time_ns() - used
        self._next = start + max(_PAUSE, int(took / _SHARE))
        self._seen = look

    def _judge(self, look: Look) -> None:
        """On the agent's thread: what has grown since it was seen first, by how many bytes it holds."""
        grown = []
        for kept in look.found:
            first = self._first.setdefault(_key(kept), kept)
            # Several that are counted together: more of them, each as long as before, is not growth.
            more = kept.length - round(first.length * max(1.0, kept.of / first.of))
            if more >= _LEAST:
                grown.append((kept, more))
        if look.whole or len(self._first) > _REMEMBERED:
            present = {_key(kept) for kept in look.found}
            self._first = {key: kept for key, kept in self._first.items() if key in present}
        grown.sort(key=lambda pair: -pair[0].bytes * pair[1])
        loops = [loop for loop in self.kit.tracker.loops if loop.count >= _TURNS]
        files = [*dict.fromkeys(loop.file for loop in loops), *self._modules.values()]
        for kept, more in grown[:_TOLD]:
            what = TALLY_KEPT_TENSOR if kept.tensor else TALLY_KEPT_OBJECT
            place = kept.place or grows(files, kept.name, {(loop.file, loop.line) for loop in loops})
            subject = Details(kept.name, container=kept.kind, bounded=kept.bounded)
            self.kit.tallies.put(what, subject, *place, more, 0, kept.bytes * more)
        arrays = {} if self.kit.hooked else look.arrays  # with hooks, the steps show what grows
        for name, (rows, size) in arrays.items():
            before = self._arrays.setdefault(name, rows)
            if rows - before >= max(_LEAST, before):
                self.kit.tallies.put(TALLY_GROWN_ARRAY, name, "", 0, rows - before, 0, size)


def _key(kept: Kept) -> tuple[str, int]:
    """The same thing has other names in other frames: `self.log`, `trainer.log`."""
    return last_name(kept.name), kept.id
