"""What a run is doing, in a few words, and the status line. Pure: a view in, text out."""

from __future__ import annotations

import math

from ..agent.protocol.names import PHASE_IMPORTING, PHASE_SETUP, PHASE_STARTING, PHASE_WARM_UP
from ..state.view import View
from .format import digits, duration

_SECOND = 1e9
#: Seconds without a new iteration after which the screen says so. A user waits that long without asking why.
_LONG = 2.0


def scenario_status(view: View | None, now: int) -> str:
    """Say what a scenario is doing at `now` (perf_counter_ns)."""
    if view is None:
        return "starting …"
    if view.ended is not None and view.failure is None:
        return view.ended.how.rstrip(".")
    silent = _silent_seconds(view, now)
    return (
        _before_steps(view)
        or (f"iteration {view.iterations:,} has been running for {duration(silent)}" if silent else "")
        or _running(view)
    )


def script_status(view: View | None, now: int) -> str:
    """Say what a user's script is doing at `now`. It may have other things to do than its steps."""
    if view is None:
        return "starting …"
    if view.ended is not None and view.failure is None:
        how = view.ended.how.rstrip(".")
        return f"{how}, exit code 0" if view.ended.code == 0 else how
    idle = view.process_state in ("", "stopped")
    if view.phase == PHASE_STARTING and view.failure is None and not idle:
        return "running, without TensorFlow so far"
    silent = _silent_seconds(view, now)
    return (
        _before_steps(view)
        or (f"{view.iterations:,} it · no step for {duration(silent)}" if silent else "")
        or _running(view)
    )


def _before_steps(view: View) -> str:
    """Describe a failure, a stopped process or a phase before the first step; empty otherwise."""
    if view.failure is not None:
        where = f"iteration {view.failure.iteration:,}" if view.failure.iteration >= 0 else "setup"
        return f"failed in {where}"
    if view.process_state == "stopped":
        return "the process is stopped (SIGSTOP); resume it with `kill -CONT`"
    if view.phase == PHASE_IMPORTING:
        return f"importing {view.phase_detail} … {_waited(view)}"
    if view.phase in (PHASE_STARTING, PHASE_SETUP):
        return f"{view.phase} … {_waited(view)}"
    return ""


def _running(view: View) -> str:
    if view.phase == PHASE_WARM_UP:
        return f"warm-up … {_waited(view)}"
    comparison = view.comparison
    if comparison is not None and comparison.running:  # a rate would mix both sides
        return f"A/B, {comparison.blocks} pairs · {view.iterations:,} it"
    rate = f" · {digits(view.rate)} it/s" if math.isfinite(view.rate) else ""
    return f"running · {view.iterations:,} it{rate}"


def _waited(view: View) -> str:
    """Return how long the current phase has lasted."""
    return duration(max(0.0, (view.at - view.phase_since) / _SECOND)) if view.phase_since else ""


def _silent_seconds(view: View, now: int) -> float:
    """Return the seconds since the last iteration began, or 0 while that is not worth a word."""
    silent = (now - view.last_step_at) / _SECOND if view.last_step_at else 0.0
    return silent if silent > _LONG else 0.0


def status_line(view: View | None, own_cpu: float, width: int) -> str:
    """Say what the run uses, what was lost and what tfslowtop costs; drop the pid where room is short."""
    full = _status_line(view, own_cpu, pid=True)
    return full if len(full) <= width else _status_line(view, own_cpu, pid=False)


def _status_line(view: View | None, own_cpu: float, *, pid: bool) -> str:
    parts = []
    if view is not None and view.tensorflow:
        where = f" on {', '.join(view.devices)}" if view.devices else ""
        parts.append(f"TensorFlow {view.tensorflow}{where}")
    if view is not None and view.pid and pid:
        parts.append(f"pid {view.pid}")
    if view is not None and view.folded:
        parts.append(f"{view.folded:,} folded")
    if view is not None and view.lost:
        parts.append(f"{view.lost:,} dropped")
    parts.append(f"tfslowtop {own_cpu:.0f} % CPU")
    return " · ".join(parts)
