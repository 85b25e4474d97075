"""What the run is doing, in a few words. Pure: a view in, text out."""

from __future__ import annotations

import math

from ..state.view import View
from .format import digits, duration

_SECOND = 1e9
#: An iteration that takes longer than this is mentioned while it lasts.
_LONG = 2.0


def state(view: View | None, now: int, *, script: bool = False) -> str:
    """Say what the run is doing at `now` (perf_counter_ns).

    Less is known of a user's own `script`: it may have other things to do than its steps.
    """
    if view is None:
        return "starting …"
    if view.failure is not None:
        where = f"iteration {view.failure.iteration:,}" if view.failure.iteration >= 0 else "setup"
        return f"failed in {where}"
    if view.ended is not None:
        how = view.ended.how.rstrip(".")
        return f"{how}, exit code 0" if script and view.ended.code == 0 else how
    if view.process_state == "stopped":
        return "the process is stopped (SIGSTOP); `kill -CONT` lets it go on"
    waited = duration(max(0.0, (view.at - view.phase_since) / _SECOND)) if view.phase_since else ""
    if view.phase == "importing":
        return f"importing {view.phase_detail} … {waited}"
    if script and view.phase == "starting" and view.process_state:
        return "running, without TensorFlow so far"
    if view.phase in ("starting", "setup"):
        return f"{view.phase} … {waited}"
    silent = (now - view.last_step_at) / _SECOND if view.last_step_at else 0.0
    if silent > _LONG and script:
        return f"{view.iterations:,} it · no step for {duration(silent)}"
    if silent > _LONG:
        return f"iteration {view.iterations:,} has been running for {duration(silent)}"
    if view.phase == "warm-up":
        return f"warm-up … {waited}"
    comparison = view.comparison
    if comparison is not None and comparison.running:  # a rate would be that of neither
        return f"A/B, {comparison.blocks} pairs · {view.iterations:,} it"
    rate = f" · {digits(view.rate)} it/s" if math.isfinite(view.rate) else ""
    return f"running · {view.iterations:,} it{rate}"


def status(view: View | None, own_cpu: float, width: int) -> str:
    """The status line: what it runs on, what was dropped, what we cost; less of it where there is no room."""
    full = _status(view, own_cpu, pid=True)
    return full if len(full) <= width else _status(view, own_cpu, pid=False)


def _status(view: View | None, own_cpu: float, *, pid: bool) -> str:
    parts = []
    if view is not None and view.tensorflow:
        where = f" on {', '.join(view.devices)}" if view.devices else ""
        parts.append(f"TensorFlow {view.tensorflow}{where}")
    if view is not None and view.pid and pid:
        parts.append(f"pid {view.pid}")
    if view is not None:
        parts.append(
            f"{view.folded:,} folded, {view.lost:,} dropped" if view.folded else f"{view.lost:,} dropped"
        )
    parts.append(f"tfslowtop {own_cpu:.0f} % CPU")
    return " · ".join(parts)
