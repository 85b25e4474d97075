"""Samples eager ops in short bursts: how fast they come, which ones, and from which lines.

Looking at every op would cost too much, and TensorFlow's own counter cannot be read without advancing it,
which would change names in the program's messages. So a few hundred ops are looked at every two seconds. A
loop of eager ops in which no other hook sees anything still has iterations: there the op that occurs least
often in a burst is watched permanently and marks them.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from ..protocol.names import GAUGE_EAGER_OPS, TALLY_EAGER_OP, TALLY_EAGER_OP_LOOP
from ..steps.streams import OP, Iteration
from ..steps.tracker import loops_in
from .base import Hook
from .context import HookContext
from .patch import MissingTarget, Patch, Prefix

#: Ops a second from which a program counts as eager.
_BUSY = 300
_BURST = 200
#: Nanoseconds between two bursts; the first few come four times as often.
_PAUSE = 2_000_000_000
_EARLY = 8
#: Nanoseconds without any hooked call after which an op has to mark the iterations.
_SILENCE = 500_000_000
#: Iterations in a row that the op marked exactly once before it is trusted; and how often it is checked then.
_SURE = 16
_CHECK = 15
#: Occurrences in a burst that make an op a candidate: fewer are no evidence of a loop.
_RECURS = 3
#: The share of iterations that have to be seen by other hooks to do without a marker.
_SEEN_OTHERWISE = 0.5


class MarkerOp:
    """The op that marks the iterations. Once it has proven itself, most walks to the loop are skipped."""

    __slots__ = ("_context", "_iteration", "_sure", "name")

    def __init__(self, context: HookContext, name: str) -> None:
        self._context, self.name = context, name
        self._iteration: Iteration | None = None
        self._sure = 0

    def wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        name, here = self.name, self.here

        def execute(*args: Any) -> Any:
            if args[1] == name:
                here()
            return original(*args)

        return execute

    def here(self) -> None:
        """Mark an iteration, in a wrapper of the op and before the op runs."""
        try:
            context, now, iteration, sure = self._context, time.perf_counter_ns(), self._iteration, self._sure
            if context.tracing.any and context.tracing.here() is not None:
                return
            if iteration is not None and sure > _SURE and sure & _CHECK:
                iteration.again(now)
            else:
                before, wrapper, tracker = iteration, sys._getframe().f_back, context.tracker
                seen = tracker.seen
                iteration = tracker.enter(wrapper, now) if wrapper is not None else None
                tracker.seen = seen  # our own call is not one that other hooks see
                self._iteration = iteration
                if iteration is None:
                    return
                if iteration is not before or iteration.start != now:
                    sure = 0
            self._sure = sure + 1
            iteration.bits |= OP
            iteration.end = now
        except Exception as error:
            context.report_error(error)


class EagerOpHook(Hook):
    title = "eager ops"
    modules = ("tensorflow.python.pywrap_tfe",)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._ops: Patch | None = None
        self._marker_op: MarkerOp | None = None
        self._marking: Prefix | None = None
        self._seen: Counter[str] = Counter()
        self._callers: dict[str, tuple[CodeType, dict[str, Any]]] = {}
        """The code that executed each op, and the globals that hold its function."""
        self._left = 0
        self._first = self._last = self._next = 0
        self._bursts = 0

    def install(self, module: ModuleType) -> None:
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
        self.context.gauge(GAUGE_EAGER_OPS, now, round(rate))
        if rate > _BUSY or self._marker_op is not None:
            self._choose_marker(now)
        self._seen.clear()
        self._first = self._last = 0
        self._left = _BURST
        self._ops.install(self._looking)

    def _choose_marker(self, now: int) -> None:
        # An iteration may last for seconds: what counts is whether other hooks see anything in it.
        tracker, since = self.context.tracker, now - _SILENCE
        if tracker.seen > since and not any(
            loop.last > since and loop.did(~OP) <= _SEEN_OTHERWISE for loop in tracker.loops
        ):
            self._remove_marker()
        elif self._marker_op is None:
            often = [(n, name) for name, n in dict(self._seen).items() if n >= _RECURS]
            if often:
                self._marker_op = MarkerOp(self.context, min(often)[1])
                self._install_marker(self._marker_op)

    def _install_marker(self, marker_op: MarkerOp) -> None:
        """Put a call before the one function that executes the op or, failing that, before all ops."""
        code, names = self._callers[marker_op.name]
        function = names.get(code.co_name)
        while function is not None and getattr(function, "__code__", None) is not code:
            function = getattr(function, "__wrapped__", None)
        if isinstance(function, FunctionType):
            try:
                self._marking = Prefix(function, marker_op.here)
                self.patches.append(self._marking)
            except MissingTarget:
                pass

    def _remove_marker(self) -> None:
        self._marker_op = None
        if self._marking is not None:
            self._marking.off()
            self.patches.remove(self._marking)
            self._marking = None

    def _looking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def execute(*args: Any) -> Any:
            self._look(args[1], sys._getframe())
            return original(*args)

        return execute

    def _count_loops_around(self, frame: FrameType | None) -> None:
        """Count an op for the line in each loop around it."""
        context = self.context
        frame = context.ownership.user_frame(frame)
        while frame is not None:
            if loops_in(frame):
                context.tallies.at(
                    TALLY_EAGER_OP_LOOP, frame.f_code.co_name, frame.f_code, frame.f_lasti, 0, 0
                )
            frame = context.ownership.user_frame(frame.f_back)

    def _look(self, name: str, frame: FrameType) -> None:
        context, marker_op = self.context, self._marker_op
        try:
            if context.tracing.any and context.tracing.here() is not None:
                return
            if marker_op is not None and self._marking is None and name == marker_op.name:
                marker_op.here()
            if self._left:
                self._last = time.perf_counter_ns()
                self._first = self._first or self._last
                self._left -= 1
                self._seen[name] += 1
                caller = frame.f_back
                if name not in self._callers and caller is not None:
                    self._callers[name] = (caller.f_code, caller.f_globals)
                context.tallies.add(TALLY_EAGER_OP, caller, symbol=name)
                self._count_loops_around(caller)
            elif self._ops is not None:  # the burst is over
                self._ops.off()
                if marker_op is not None and self._marking is None:
                    self._ops.install(marker_op.wrap)
        except Exception as error:
            context.report_error(error)
