"""The fixes of one program: offers them, switches them, and answers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from types import CodeType

from ..hooks.context import HookContext
from ..protocol.events import FixAnswered, FixOffered, Reason, Toggled
from ..protocol.names import (
    GAUGE_GC_SECONDS,
    REASON_PYTHON_VALUE,
    REASON_RECREATED,
    REASON_SHAPE,
    STREAM_PREDICT,
    FixStatus,
    TraceReason,
)
from .base import LiveFix
from .compiled_functions import CompiledFunctions
from .direct_predict import DirectPredict
from .frozen_garbage import FrozenGarbage
from .function_calls import FunctionCalls
from .python_numbers import PythonNumbers
from .relaxed_shapes import RelaxedShapes
from .shared_function import SharedFunction

#: Retraces for the same reason from which on a fix is offered: the third value is hardly the last.
_RETRACES = 3
#: Seconds in the collector from which on freezing is offered: a start alone takes less.
_GC_SECONDS = 0.5
#: Calls of predict at one line that make a loop.
_PREDICTS = 10
#: Fixes that are offered at most: each has a key or a line.
_MOST = 64


class Fixes:
    def __init__(self, context: HookContext, iteration: Callable[[], int]) -> None:
        """`iteration` returns the number of the step's iteration in progress."""
        self._context, self._iteration = context, iteration
        self._calls = FunctionCalls()
        self._offered: dict[str, LiveFix] = {}
        self._retraces: Counter[tuple[int, TraceReason]] = Counter()
        self._numbers: dict[int, set[str]] = {}
        self._active: tuple[str, ...] = ()
        self._kinds: set[str] = set()
        self._removed = False

    # Offers

    def note_trace(self, code: CodeType, symbol: str, reasons: tuple[Reason, ...]) -> None:
        """Offer a fix for a function that keeps tracing; called after each trace."""
        causes = {reason.cause for reason in reasons}
        if self._removed or len(causes) != 1:
            return
        (cause,) = causes
        if cause == REASON_PYTHON_VALUE:
            numbers = {r.argument for r in reasons if _is_number(r)}
            if len(numbers) != len(reasons):
                return
            self._numbers.setdefault(id(code), set()).update(numbers)
        key = (id(code), cause)
        self._retraces[key] += 1
        if self._retraces[key] != _RETRACES:
            return
        self._context.keep(code)
        library = self._context.ownership.is_library
        if cause == REASON_PYTHON_VALUE:
            arguments = tuple(sorted(self._numbers[id(code)]))
            self.offer(PythonNumbers(self._calls, library, code, symbol, arguments))
        elif cause == REASON_SHAPE:
            self.offer(RelaxedShapes(self._calls, library, code, symbol))
        elif cause == REASON_RECREATED:
            self.offer(SharedFunction(self._calls, library, code, symbol))

    def tick(self) -> None:
        """Offer what does not depend on traces; runs about ten times a second, on the agent's thread."""
        context = self._context
        if CompiledFunctions.kind not in self._kinds and CompiledFunctions.is_wanted():
            self.offer(CompiledFunctions(self._calls, context.ownership.is_library))
        if FrozenGarbage.kind not in self._kinds and context.last_gauge(GAUGE_GC_SECONDS) >= _GC_SECONDS:
            self.offer(FrozenGarbage(context.report_error))
        if DirectPredict.kind not in self._kinds and context.calls_of(STREAM_PREDICT) >= _PREDICTS:
            self.offer(DirectPredict(context.ownership.is_library))

    def offer(self, fix: LiveFix) -> None:
        if fix.id in self._offered or len(self._offered) >= _MOST or self._removed:
            return
        fix.report = self._report
        self._offered[fix.id] = fix
        self._kinds.add(fix.kind)
        self._context.agent.emit(FixOffered(fix.id, fix.title, fix.cause, fix.file, fix.line, fix.symbol))

    # Switching

    def set(self, wanted: Iterable[str]) -> None:
        """Switch exactly these fixes on, on the agent's thread."""
        wanted = set(wanted)
        for id, fix in list(self._offered.items()):
            try:
                if id in wanted and not fix.is_armed:
                    fix.switch_on()
                elif id not in wanted and fix.is_armed:
                    fix.switch_off()
            except Exception as error:
                self._context.report_error(error)
                fix.roll_back(f"It failed with {type(error).__name__}.")

    def remove(self) -> None:
        """Switch all fixes off, for good."""
        self.set(())
        self._removed = True

    def _report(self, fix: LiveFix, status: FixStatus, sentence: str) -> None:
        """Answer, on whichever thread it happened. Never raises."""
        now, emit = time.perf_counter_ns(), self._context.agent.emit
        active = tuple(id for id, fix in self._offered.items() if fix.is_on)
        emit(FixAnswered(fix.id, status, sentence, now, fix.compared))
        if active != self._active:
            self._active = active
            emit(Toggled(self._iteration(), active, now))


def _is_number(reason: Reason) -> bool:
    return reason.argument.isidentifier() and {reason.before_class, reason.after_class} <= {"int", "float"}
