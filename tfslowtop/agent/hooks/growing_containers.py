"""Finds containers of the program that grow while its loops run, and the lines that fill them.

It never asks for a list of all objects: some of them are just being created or destroyed, and touching those
crashed programs. Everything here is reached through the program's own names, so it is complete and alive. The
main thread scans itself, inside a call that a hook has wrapped anyway, or between two instructions where
there are no such calls; every reference is gone when the program continues. None of the program's code runs:
sizes and attributes are read by the built-in types' own methods. There is a first scan, and another one per 8
MB of additional memory; a scan ends after 5 ms of CPU time.
"""

from __future__ import annotations

import os
import sys
import time
from types import FrameType, ModuleType

from ..code.containers import Container, ContainerScan, own_modules
from ..code.fill_site import find_fill_site, last_name
from ..protocol.names import TALLY_GROWN_ARRAY, TALLY_KEPT_OBJECT, TALLY_KEPT_TENSOR
from ..tallies import Details
from .base import Hook
from .context import HookContext

#: Iterations of some loop before the first scan: what is built earlier belongs to the program.
_ITERATIONS = 20
#: Growth of memory in bytes that is worth another scan.
_GROWTH = 8 << 20
#: Nanoseconds between two scans at least; and the share of the time that scanning may take.
_PAUSE = 1_000_000_000
_SHARE = 0.005
#: Entries that a container has to gain before it is reported, and containers reported per scan.
_LEAST = 10
_MOST_REPORTED = 3
#: Containers that are remembered when scans are cut short.
_REMEMBERED = 10_000


class GrowingContainersHook(Hook):
    title = "growing containers"

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._next = self._rss = 0
        self._first: dict[tuple[str, int], Container] = {}
        self._arrays: dict[str, int] = {}
        self._last_scan: ContainerScan | None = None
        self._modules: dict[str, str] = {}
        self._imported = 0
        self._page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

    def install(self, module: ModuleType) -> None:
        """Patch nothing: the tracker runs the scan."""

    def tick(self, now: int) -> None:
        if self._last_scan is not None:
            scan, self._last_scan = self._last_scan, None
            self._report_growth(scan)
        tracker = self.context.tracker
        if now < self._next or tracker.errand is not None:
            return
        self._next = now + _PAUSE // 4
        if self.context.hooked and max((loop.count for loop in tracker.loops), default=0) < _ITERATIONS:
            return
        rss = self._resident()
        if rss >= self._rss + _GROWTH:
            self._rss = rss
            if len(sys.modules) != self._imported:
                self._imported = len(sys.modules)
                self._modules = own_modules(self.context.ownership)
            tracker.errand = self._scan

    def remove(self) -> None:
        self.context.tracker.errand = None
        super().remove()

    def _resident(self) -> int:
        try:
            with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
                return int(file.read().split()[1]) * self._page
        except OSError:
            return self._rss + _GROWTH  # where memory cannot be read, time alone decides

    def _scan(self, frame: FrameType | None) -> None:
        """Scan on the main thread, in a hooked call that `frame` makes."""
        start, used = time.perf_counter_ns(), time.thread_time_ns()
        scan = ContainerScan(self.context.ownership)
        held = ((name, reference()) for name, reference in self.context.library_held.copy().items())
        scan.around(frame, self._modules, {name: value for name, value in held if value is not None})
        took = time.thread_time_ns() - used
        self._next = start + max(_PAUSE, int(took / _SHARE))
        self._last_scan = scan

    def _report_growth(self, scan: ContainerScan) -> None:
        """Report what has grown since its first scan, largest first; on the agent's thread."""
        grown = []
        for container in scan.found:
            first = self._first.setdefault(_key(container), container)
            # Of several counted together, more of them of the same length is not growth.
            more = container.length - round(first.length * max(1.0, container.of / first.of))
            if more >= _LEAST:
                grown.append((container, more))
        if scan.whole or len(self._first) > _REMEMBERED:
            present = {_key(container) for container in scan.found}
            self._first = {key: container for key, container in self._first.items() if key in present}
        grown.sort(key=lambda pair: -pair[0].bytes * pair[1])
        loops = [loop for loop in self.context.tracker.loops if loop.count >= _ITERATIONS]
        files = [*dict.fromkeys(loop.file for loop in loops), *self._modules.values()]
        for container, more in grown[:_MOST_REPORTED]:
            what = TALLY_KEPT_TENSOR if container.tensor else TALLY_KEPT_OBJECT
            place = container.place or find_fill_site(
                files, container.name, {(loop.file, loop.line) for loop in loops}
            )
            subject = Details(container.name, container=container.kind, bounded=container.bounded)
            self.context.tallies.put(what, subject, *place, more, 0, container.bytes * more)
        arrays = {} if self.context.hooked else scan.arrays  # with hooks, the steps show what grows
        for name, (rows, size) in arrays.items():
            before = self._arrays.setdefault(name, rows)
            if rows - before >= max(_LEAST, before):
                self.context.tallies.put(TALLY_GROWN_ARRAY, name, "", 0, rows - before, 0, size)


def _key(container: Container) -> tuple[str, int]:
    """Identify a container whose name differs between frames: `self.log`, `trainer.log`."""
    return last_name(container.name), container.id
