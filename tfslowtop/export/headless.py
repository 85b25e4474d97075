"""Watch a script without a screen: a summary on standard error, and a JSON object on request."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..agent.protocol.events import Ended
from ..own_error import describe_end, say
from ..run import Lens, Run
from ..sources.script import ScriptSource, pass_signals_on
from ..state.session import Session
from ..state.view import View
from .files import ResultFile, as_json
from .report import report
from .summary import summary

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a watched run went. Without a view there is nothing to judge, and `error` says why."""

    view: View | None
    session: Session
    ended: Ended | None
    stopped_by: str
    """The signal that ended the script when its time was up; empty if it ended by itself."""
    error: Exception | None
    """The first bug of tfslowtop that showed."""

    @property
    def code(self) -> int:
        """The script's exit code, as a shell reports it; 0 if it was stopped because its time was up."""
        code = self.ended.code if self.ended and not self.stopped_by else 0
        return code if code >= 0 else 128 - code

    @property
    def ending(self) -> str:
        """What became of the script, for the end of a sentence."""
        if self.ended is None:
            return ""
        if self.stopped_by:
            return f"the script was stopped with {self.stopped_by}"
        return describe_end(self.ended.code)


class HeadlessScript:
    """Runs a script to its end, or for a number of seconds; prints the summary and writes the JSON."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        python: str | None = None,
        step: str | None = None,
        json: str | None = None,
        max_seconds: float = 0.0,
    ) -> None:
        """Raise SourceError if the script cannot run or the file cannot be written; start nothing yet."""
        self._argv, self._python = argv, python or sys.executable
        self._source = ScriptSource(
            argv, python=python, step=step, headless=True, stdout=2 if json == "-" else None
        )
        self._source.check()
        self._file = ResultFile(json) if json else None
        self._max = max_seconds
        self._asked = False
        self._run = Run(self._source, Lens(columns=2), self._look, to_the_end=True)

    def go(self) -> Outcome:
        """Start the script, wait for its end, and report."""
        run = self._run
        with pass_signals_on(self._source):
            run.pump()
        stopped_by = self._source.stopped_by if self._asked else ""
        view = self._attempt(self._last_view) if run.analysed else None
        if view is not None:
            text = self._attempt(lambda: summary(self._argv, view, run.session, stopped_by))
            if text is not None:
                say(text)
            if self._file is not None:
                self._write(self._file, view, stopped_by)
        return Outcome(view, run.session, run.ended, stopped_by, run.error)

    def _write(self, file: ResultFile, view: View, stopped_by: str) -> None:
        data = self._attempt(
            lambda: as_json(report(self._argv, self._python, view, self._run.session, stopped_by))
        )
        if data is not None and (problem := file.write(data)):
            say(f"tfslowtop: {problem}")

    def _last_view(self) -> View:
        self._run.session.streams.recompute_all()
        return self._run.session.view(time.perf_counter_ns(), 2, 0.5)

    def _attempt(self, action: Callable[[], _T]) -> _T | None:
        """Return None after a bug of ours, and keep the error: the script's own result still counts."""
        try:
            return action()
        except Exception as error:
            self._run.error = self._run.error or error
            return None

    def _look(self, view: View) -> None:
        if self._max and not self._asked and time.monotonic() - self._run.started >= self._max:
            self._asked = True
            self._source.stop()
