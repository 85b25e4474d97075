"""Base class for live fixes."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from ..protocol.names import FIX_OFF, FIX_ON, FIX_REFUSED, FIX_ROLLED_BACK, FixStatus, TraceReason

#: How a fix reports what became of it: the fix, its status, and a sentence.
Report = Callable[["LiveFix", FixStatus, str], None]


class Refused(Exception):  # noqa: N818  it is an answer, not a failure
    """The fix cannot be applied; the message is a sentence for the user."""


class LiveFix:
    """Something that can be switched on inside the program.

    `start` and `stop` run on the agent's thread and only arm the fix: it acts on the program's own thread, at
    the next call. From then on it reports what became of it.
    """

    #: The start of its id.
    kind = ""

    def __init__(self, title: str, cause: TraceReason | str, file: str, line: int, symbol: str) -> None:
        self.title, self.cause, self.file, self.line, self.symbol = title, cause, file, line, symbol
        self.id = f"{self.kind}:{symbol}@{file}:{line}"
        self.is_armed = self.is_on = self.compared = False
        self.report: Report = lambda fix, status, sentence: None

    def start(self) -> None:
        """Arm the fix; raise `Refused` if it cannot work."""
        raise NotImplementedError

    def stop(self) -> None:
        """Disarm the fix: from its next call on, the program does what it does without us."""

    def switch_on(self) -> None:
        self.is_armed = True
        self.compared = False
        try:
            self.start()
        except Refused as refusal:
            self.refuse(str(refusal))

    def switch_off(self) -> None:
        was_armed, self.is_armed, self.is_on = self.is_armed, False, False
        self.stop()
        if was_armed:
            self.report(self, FIX_OFF, "")

    def confirm(self, sentence: str = "") -> None:
        """Report, on the program's thread, that the fix now works."""
        if self.is_armed and not self.is_on:
            self.is_on = True
            self.report(self, FIX_ON, sentence)

    def refuse(self, sentence: str) -> None:
        self._end(FIX_REFUSED, sentence)

    def roll_back(self, sentence: str) -> None:
        """Return to the original after the fix was on; before that, it is a refusal."""
        self._end(FIX_ROLLED_BACK if self.is_on else FIX_REFUSED, sentence)

    def _end(self, status: FixStatus, sentence: str) -> None:
        if not self.is_armed:
            return
        self.is_armed = self.is_on = False
        self.stop()
        self.report(self, status, sentence)


class FunctionFix(LiveFix):
    """A fix for the tf.functions of one code object, or for all tf.functions if `code` is None."""

    def __init__(self, title: str, cause: TraceReason | str, code: CodeType | None, symbol: str) -> None:
        file, line = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
        super().__init__(title, cause, file, line, symbol)
        self.code = code

    def call(self, original: Callable[..., Any], function: Any, args: tuple[Any, ...], kwds: Any) -> Any:
        """Make a call of a tf.function: `original(function, *args, **kwds)`, or something as good."""
        raise NotImplementedError
