"""A script watched without a terminal: the summary on standard error, and the JSON object of the design."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..analysis.diagnosis.make import ms
from ..analysis.retraces import INNOCENT, FunctionTraces
from ..analysis.session import Session
from ..analysis.streams import StreamView
from ..analysis.trend import Trend
from ..analysis.view import View
from ..sources.script import ScriptSource, pass_signals_on
from ..watch import Lens, Run
from .findings import finding, told, verdict
from .numbers import known


class HeadlessScript:
    """Runs a script to its end, or stops it after so many seconds, which is not a failure."""

    def __init__(self, source: ScriptSource, *, max_seconds: float = 0.0) -> None:
        self._source = source
        self._max = max_seconds
        self._began = time.monotonic()
        self._stopped = False
        self._run = Run(source, Lens(columns=2), self._look)

    def go(self) -> tuple[View, Session]:
        with pass_signals_on(self._source):
            self._run.pump()
        self._run.session.streams.think_all()
        now = time.perf_counter_ns()
        return self._run.session.view(now, 2, 0.5), self._run.session

    def _look(self, view: View) -> None:
        if self._max and not self._stopped and time.monotonic() - self._began >= self._max:
            self._stopped = True
            self._source.stop()

    @property
    def stopped(self) -> bool:
        """Whether the time was up."""
        return self._stopped


def report(argv: Sequence[str], python: str, view: View, session: Session) -> dict[str, Any]:
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
            "example": list(b.example),
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


def summary(argv: Sequence[str], view: View, session: Session, stopped: bool) -> str:
    """What a person wants to know, in a few lines."""
    lines = [f"tfslowtop: {' '.join(argv)}: {_ending(view, stopped)} after {session.elapsed(view.at):.1f} s"]
    step = next((s for s in view.streams if s.is_step), None)
    if not view.tensorflow:
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


def _ending(view: View, stopped: bool) -> str:
    if stopped:
        return "stopped, as asked,"
    if view.ended is None:
        return "left alone"
    return "ended" if view.ended.code == 0 else view.ended.how.rstrip(".")


def write(report: dict[str, Any], to: str) -> None:
    """To a file, or to standard output for `-`."""
    text = json.dumps(known(report), indent=2, ensure_ascii=False) + "\n"
    if to == "-":
        sys.stdout.write(text)
    else:
        Path(to).write_text(text)
