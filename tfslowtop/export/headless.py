"""A script watched without a terminal: the summary on standard error, and the JSON object of the design."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .. import __version__
from ..agent.protocol.events import Ended
from ..clean import clean
from ..diagnosis.make import ms
from ..own_error import describe_end, say
from ..run import Lens, Run
from ..sources.script import ScriptSource, pass_signals_on
from ..state.retraces import INNOCENT, FunctionTraces
from ..state.session import Session
from ..state.streams import StreamView
from ..state.view import View
from ..stats.trend import Trend
from .files import ResultFile, as_json
from .findings import finding, told, verdict

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a watched run went. Without a view there is nothing to judge: `error` says why."""

    view: View | None
    session: Session
    ended: Ended | None
    stopped_by: str
    """The signal that ended the script when its time was up; empty if it ended by itself."""
    error: Exception | None
    """The first error of our own."""

    @property
    def code(self) -> int:
        """The script's exit code, as a shell says it. To be stopped when the time is up is no failure."""
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
    """Runs a script to its end, or stops it after so many seconds; prints the summary, writes the JSON."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        python: str | None = None,
        step: str | None = None,
        json: str | None = None,
        max_seconds: float = 0.0,
    ) -> None:
        """`SourceError` for a file that cannot be written, before anything is started."""
        self._argv, self._python = argv, python or sys.executable
        self._file = ResultFile(json) if json else None
        self._source = ScriptSource(
            argv, python=python, step=step, headless=True, stdout_to_stderr=json == "-"
        )
        self._max = max_seconds
        self._asked = False
        self._run = Run(self._source, Lens(columns=2), self._look, to_the_end=True)

    def go(self) -> Outcome:
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
        self._run.session.streams.think_all()
        return self._run.session.view(time.perf_counter_ns(), 2, 0.5)

    def _attempt(self, action: Callable[[], _T]) -> _T | None:
        """None after an error of our own, which is kept: the script has ended, its result must be told."""
        try:
            return action()
        except Exception as error:
            self._run.error = self._run.error or error
            return None

    def _look(self, view: View) -> None:
        if self._max and not self._asked and time.monotonic() - self._run.started >= self._max:
            self._asked = True
            self._source.stop()


def report(
    argv: Sequence[str], python: str, view: View, session: Session, stopped_by: str = ""
) -> dict[str, Any]:
    """The object that `--json` writes. Times are seconds unless the name says ms."""
    ended = view.ended
    return {
        "version": __version__,
        "target": {
            "argv": list(argv),
            "pid": view.pid or None,
            "python": view.python or python,
            "tensorflow": view.tensorflow or None,
            "exit_code": ended.code if ended else None,
            "stopped_by": stopped_by or None,
            "wall_seconds": session.elapsed(view.at),
        },
        "streams": [_stream(s) for s in view.streams],
        "traces": [_traces(f) for f in session.retraces.functions.values()],
        "gauges": {name: _gauge(session, name) for name in sorted(session.gauges)},
        "findings": [finding(f) for f in view.findings],
        "verdict": verdict(view),
        "notes": list(view.notes),
        "dropped": view.lost,
        "folded": view.folded,
    }


def _stream(s: StreamView) -> dict[str, Any]:
    return {
        "id": s.id,
        "name": s.name,
        "kind": s.kind,
        "file": s.file,
        "line": s.line,
        "calls": s.calls,
        "seconds": s.seconds,
        "share": s.share,
        "median_ms": 1e3 * s.median,
        "p95_ms": 1e3 * s.p95,
        "trend": _trend(s.trend),
        "traces": s.traces,
        "is_step": s.is_step,
    }


def _trend(trend: Trend | None) -> dict[str, Any] | None:
    if trend is None:
        return None
    per_100 = [1e5 * value for value in (trend.slope, trend.low, trend.high)]
    return {
        "direction": trend.direction,
        "percent_per_100": trend.percent,
        "ms_per_100": per_100[0],
        "ms_per_100_low": per_100[1],
        "ms_per_100_high": per_100[2],
        "why": trend.why,
    }


def _traces(f: FunctionTraces) -> dict[str, Any]:
    reasons = [
        {
            "argument": b.argument,
            "cause": b.cause,
            "count": b.count,
            "different_values": len(b.values),
            "example": [b.example.before, b.example.after],
            "innocent": b.cause in INNOCENT,
        }
        for b in sorted(f.blames.values(), key=lambda b: -b.count)
    ]
    return {
        "function": f.function,
        "file": f.file,
        "line": f.line,
        "count": f.count,
        "avoidable": f.avoidable,
        "seconds": f.seconds,
        "reasons": reasons,
    }


def _gauge(session: Session, name: str) -> dict[str, Any]:
    first, last, largest, slope = session.gauges.summary(name)
    return {"first": first, "last": last, "max": largest, "slope_per_step": slope}


def summary(argv: Sequence[str], view: View, session: Session, stopped_by: str) -> str:
    """What a person wants to know, in a few lines."""
    script, seconds = clean(" ".join(argv)), session.elapsed(view.at)
    lines = [f"tfslowtop: {script}: {_ending(view, stopped_by)} after {seconds:.1f} s"]
    step = next((s for s in view.streams if s.is_step), None)
    if not view.tensorflow and view.phase == "starting":  # the version is known only after its first op
        unseen = "" if step else ": without it no steps are seen"
        lines.append(f"  It never imported TensorFlow{unseen}.")
    if step is not None:
        place = f" ({Path(step.file).name}:{step.line})" if step.file else ""
        lines.append(
            f"  step: {step.name}{place}, {step.calls:,} times, median {ms(step.median)}, "
            f"p95 {ms(step.p95)}, {step.words or 'unclear'}"
        )
    lines += told(view)
    lines += [f"  note: {text}" for text in view.notes]
    if view.lost:
        lines.append(f"  {view.lost:,} samples were dropped")
    return "\n".join(lines)


#: What ended a script whose time was up, and what had not.
_STOPPED = {
    "SIGINT": "stopped by --max-seconds with Ctrl-C",
    "SIGTERM": "stopped by --max-seconds with SIGTERM, since Ctrl-C did not end it,",
    "SIGKILL": "stopped by --max-seconds with SIGKILL, since neither Ctrl-C nor SIGTERM ended it,",
}


def _ending(view: View, stopped_by: str) -> str:
    if stopped_by:
        return _STOPPED[stopped_by]
    if view.ended is None:
        return "left alone"
    return "ended" if view.ended.code == 0 else view.ended.how.rstrip(".")
