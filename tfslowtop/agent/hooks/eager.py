"""Eager ops: how many, and in short bursts which ones and from which lines.

Looking at every op would cost too much, so the count comes from TensorFlow's own counter, and now and then
a few hundred ops are looked at. A loop of eager ops in which no other hook sees anything still has turns:
then the op that occurs least often in such a burst is watched for good, and marks them.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..kit import Kit
from ..loops import OP
from ..patch import Patch
from .hook import Hook, find

#: Ops a second from which a program counts as eager.
_BUSY = 300
_BURST = 200
#: Nanoseconds between two bursts.
_PAUSE = 2_000_000_000
#: Nanoseconds without any turn of any loop after which an op has to mark them.
_SILENCE = 500_000_000


class EagerHook(Hook):
    title = "eager ops"
    modules = ("tensorflow.python.pywrap_tfe",)

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._uid: Callable[[], int] | None = None
        self._ops: Patch | None = None
        self._seen: Counter[str] = Counter()
        self._left = [0]
        self._mark: list[str] = [""]
        self._last = (0, 0)
        self._next = 0

    def place(self, module: ModuleType) -> None:
        self._uid = find(module, "TFE_Py_UID")
        self._ops = self.patch(module, "TFE_Py_FastPathExecute", self._executing)
        self._ops.off()

    def tick(self, now: int) -> None:
        if self._uid is None or self._ops is None:
            return
        then, before = self._last
        count = self._uid()
        self._last = (now, count)
        self.kit.gauge("eager ops", now, count)
        rate = (count - before) * 1e9 / max(now - then, 1) if then else 0.0
        if rate < _BUSY or now < self._next:
            return
        self._choose_mark(now)
        self._next = now + _PAUSE
        self._seen.clear()
        self._left[0] = _BURST
        self._ops.on()

    def _choose_mark(self, now: int) -> None:
        loops = self.kit.tracker.loops
        real = any(now - loop.last < _SILENCE and loop.did(~OP) > 0.5 for loop in loops)
        if real:
            self._mark[0] = ""
        elif not self._mark[0]:
            often = [(n, name) for name, n in self._seen.items() if n >= 3]
            self._mark[0] = min(often)[1] if often else ""

    def _executing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        left, mark, look = self._left, self._mark, self._look

        def execute(*args: Any) -> Any:
            if left[0] or args[1] == mark[0]:
                look(args[1], sys._getframe())
            elif not mark[0]:
                self._stop()
            return original(*args)

        return execute

    def _stop(self) -> None:
        if self._ops is not None:
            self._ops.off()

    def _look(self, name: str, frame: Any) -> None:
        kit = self.kit
        try:
            if kit.quiet[0]:
                return
            if name == self._mark[0]:
                now = time.perf_counter_ns()
                turn = kit.tracker.enter(frame, now)
                if turn is not None:
                    turn.bits |= OP
                    turn.end = now
            if self._left[0]:
                self._left[0] -= 1
                self._seen[name] += 1
                kit.tallies.add("eager-op-sample", frame.f_back, symbol=name)
        except Exception as error:
            kit.oops(error)
