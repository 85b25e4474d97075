"""The JSON object about a watched script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import __version__
from ..agent.protocol.names import GaugeName
from ..state.retraces import INNOCENT, FunctionTraces
from ..state.session import Session
from ..state.streams import StreamView
from ..state.view import View
from ..stats.trend import Trend
from .account import account_as_json
from .findings import finding, verdict
from .wording import readable


def report(
    argv: Sequence[str], python: str, view: View, session: Session, stopped_by: str = ""
) -> dict[str, Any]:
    """Return the object that `--json` writes. Times are in seconds unless the name says ms."""
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
        "account": account_as_json(view.account),
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
        "name": readable(s.name),
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


def _gauge(session: Session, name: GaugeName) -> dict[str, Any]:
    first, last, largest, slope = session.gauges.summary(name)
    return {"first": first, "last": last, "max": largest, "slope_per_step": slope}
