"""Eager ops: how fast they come, which ones, and from which lines, in short bursts.

Looking at every op would cost too much, and TensorFlow's own counter cannot be read without moving it on,
which would change names in the program's messages. So every two seconds a few hundred ops are looked at. A
loop of eager ops in which no other hook sees anything still has turns: then the op that occurs least often in
such a burst is watched for good, and marks them.
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
#: Nanoseconds between two bursts; the first few come four times as often.
_PAUSE = 2_000_000_000
_EARLY = 8
#: Nanoseconds without any turn of any loop after which an op has to mark them.
_SILENCE = 500_000_000
#: Turns in a row that the op marked, each once, before it is taken on trust; how often it is checked then.
_SURE = 16
_CHECK = 15


class EagerHook(Hook):
    title = "eager ops"
    modules = ("tensorflow.python.pywrap_tfe",)

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._ops: Patch | None = None
        self._seen: Counter[str] = Counter()
        self._left = [0]
        self._mark: list[str] = [""]
        self._first = self._last = self._next = 0
        self._same: list[Any] = [0, None]
        self._bursts = 0

    def place(self, module: ModuleType) -> None:
        find(module, "TFE_Py_FastPathExecute")
        self._ops = self.patch(module, "TFE_Py_FastPathExecute", self._executing)
        self._ops.off()

    def tick(self, now: int) -> None:
        if self._ops is None or now < self._next:
            return
        pause = _PAUSE if self._bursts > _EARLY else _PAUSE // 4
        self._bursts += 1
        self._next = now + pause
        seen, span = _BURST - self._left[0], self._last - self._first
        rate = seen * 1e9 / span if seen > 1 and span > 0 else 0.0
        if self._left[0]:  # fewer than a burst came in all that time
            rate = min(rate, seen * 1e9 / pause)
        self.kit.gauge("eager ops per second", now, round(rate))
        if rate > _BUSY or self._mark[0]:
            self._choose_mark(now)
        self._seen.clear()
        self._first = self._last = 0
        self._left[0] = _BURST
        self._ops.on()

    def _choose_mark(self, now: int) -> None:
        loops = self.kit.tracker.loops
        real = any(now - loop.last < _SILENCE and loop.did(~OP) > 0.5 for loop in loops)
        if real:
            self._mark[0] = ""
            self._same[:] = [0, None]
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

    def _turn(self, frame: Any, now: int) -> None:
        """The op that marks the turns. After the same one turn each time, not every walk to it is made."""
        same = self._same
        if same[0] > _SURE and same[0] & _CHECK:
            turn = same[1]
            turn.again(now)
        else:
            turn = self.kit.tracker.enter(frame, now)
            if turn is None:
                return
            once = turn.start == now and turn is same[1]
            if not once:
                same[0] = 0
        same[0] += 1
        same[1] = turn
        turn.bits |= OP
        turn.end = now

    def _look(self, name: str, frame: Any) -> None:
        kit = self.kit
        try:
            if kit.quiet[0]:
                return
            if name == self._mark[0]:
                self._turn(frame, time.perf_counter_ns())
            if self._left[0]:
                self._last = time.perf_counter_ns()
                self._first = self._first or self._last
                self._left[0] -= 1
                self._seen[name] += 1
                kit.tallies.add("eager-op-sample", frame.f_back, symbol=name)
        except Exception as error:
            kit.oops(error)
