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
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from ..protocol.names import GAUGE_EAGER_OPS, TALLY_EAGER_OP, TALLY_EAGER_OP_LOOP
from ..steps.streams import OP, Turn
from ..steps.tracker import loops_in
from .base import Hook
from .context import Kit
from .patch import NoPlace, Patch, Prefix

#: Ops a second from which a program counts as eager.
_BUSY = 300
_BURST = 200
#: Nanoseconds between two bursts; the first few come four times as often.
_PAUSE = 2_000_000_000
_EARLY = 8
#: Nanoseconds without any call that a hook sees after which an op has to mark the turns.
_SILENCE = 500_000_000
#: Turns in a row that the op marked, each once, before it is taken on trust; how often it is checked then.
_SURE = 16
_CHECK = 15


class Mark:
    """The op that marks the turns. After the same one turn each time, not every walk to it is made."""

    __slots__ = ("_kit", "_sure", "_turn", "name")

    def __init__(self, kit: Kit, name: str) -> None:
        self._kit, self.name = kit, name
        self._turn: Turn | None = None
        self._sure = 0

    def wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        name, here = self.name, self.here

        def execute(*args: Any) -> Any:
            if args[1] == name:
                here()
            return original(*args)

        return execute

    def here(self) -> None:
        """In a wrapper of the op, before the op."""
        try:
            kit, now, turn, sure = self._kit, time.perf_counter_ns(), self._turn, self._sure
            if kit.tracing.any and kit.tracing.here() is not None:
                return
            if turn is not None and sure > _SURE and sure & _CHECK:
                turn.again(now)
            else:
                before, wrapper, tracker = turn, sys._getframe().f_back, kit.tracker
                seen = tracker.seen
                turn = tracker.enter(wrapper, now) if wrapper is not None else None
                tracker.seen = seen  # this is no call that is seen without us
                self._turn = turn
                if turn is None:
                    return
                if turn is not before or turn.start != now:
                    sure = 0
            self._sure = sure + 1
            turn.bits |= OP
            turn.end = now
        except Exception as error:
            kit.oops(error)


class EagerHook(Hook):
    title = "eager ops"
    modules = ("tensorflow.python.pywrap_tfe",)

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._ops: Patch | None = None
        self._mark: Mark | None = None
        self._marking: Prefix | None = None
        self._seen: Counter[str] = Counter()
        self._callers: dict[str, tuple[CodeType, dict[str, Any]]] = {}
        """The code that executed each op, and the globals in which that code's function is."""
        self._left = 0
        self._first = self._last = self._next = 0
        self._bursts = 0

    def place(self, module: ModuleType) -> None:
        self._ops = self.patch(module, "TFE_Py_FastPathExecute", self._looking)
        self._ops.off()

    def tick(self, now: int) -> None:
        if self._ops is None or now < self._next:
            return
        pause = _PAUSE if self._bursts > _EARLY else _PAUSE // 4
        self._bursts += 1
        self._next = now + pause
        seen, span = _BURST - self._left, self._last - self._first
        rate = seen * 1e9 / span if seen > 1 and span > 0 else 0.0
        if self._left:  # fewer than a burst came in all that time
            rate = min(rate, seen * 1e9 / pause)
        self.kit.gauge(GAUGE_EAGER_OPS, now, round(rate))
        if rate > _BUSY or self._mark is not None:
            self._choose_mark(now)
        self._seen.clear()
        self._first = self._last = 0
        self._left = _BURST
        self._ops.wear(self._looking)

    def _choose_mark(self, now: int) -> None:
        # A turn may last for seconds: what counts is whether anything in it is seen without us.
        tracker, since = self.kit.tracker, now - _SILENCE
        if tracker.seen > since and not any(
            loop.last > since and loop.did(~OP) <= 0.5 for loop in tracker.loops
        ):
            self._unmark()
        elif self._mark is None:
            often = [(n, name) for name, n in dict(self._seen).items() if n >= 3]
            if often:
                self._mark = Mark(self.kit, min(often)[1])
                self._place_mark(self._mark)

    def _place_mark(self, mark: Mark) -> None:
        """In front of the one function that executes the op; if that is not to be had, of all ops."""
        code, names = self._callers[mark.name]
        function = names.get(code.co_name)
        while function is not None and getattr(function, "__code__", None) is not code:
            function = getattr(function, "__wrapped__", None)
        if isinstance(function, FunctionType):
            try:
                self._marking = Prefix(function, mark.here)
                self.patches.append(self._marking)
            except NoPlace:
                pass

    def _unmark(self) -> None:
        self._mark = None
        if self._marking is not None:
            self._marking.off()
            self.patches.remove(self._marking)
            self._marking = None

    def _looking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def execute(*args: Any) -> Any:
            self._look(args[1], sys._getframe())
            return original(*args)

        return execute

    def _in_turn(self, frame: FrameType | None) -> None:
        """The line of the loop, of each one around, from which all this is called."""
        kit = self.kit
        frame = kit.places.user_frame(frame)
        while frame is not None:
            if loops_in(frame):
                kit.tallies.at(TALLY_EAGER_OP_LOOP, frame.f_code.co_name, frame.f_code, frame.f_lasti, 0, 0)
            frame = kit.places.user_frame(frame.f_back)

    def _look(self, name: str, frame: FrameType) -> None:
        kit, mark = self.kit, self._mark
        try:
            if kit.tracing.any and kit.tracing.here() is not None:
                return
            if mark is not None and self._marking is None and name == mark.name:
                mark.here()
            if self._left:
                self._last = time.perf_counter_ns()
                self._first = self._first or self._last
                self._left -= 1
                self._seen[name] += 1
                caller = frame.f_back
                if name not in self._callers and caller is not None:
                    self._callers[name] = (caller.f_code, caller.f_globals)
                kit.tallies.add(TALLY_EAGER_OP, caller, symbol=name)
                self._in_turn(caller)
            elif self._ops is not None:  # the burst is over
                self._ops.off()
                if mark is not None and self._marking is None:
                    self._ops.wear(mark.wrap)
        except Exception as error:
            kit.oops(error)
