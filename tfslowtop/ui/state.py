"""What the run is doing, in a few words. Pure: a view in, text out."""

from __future__ import annotations

import math

from ..analysis.view import View
from .format import digits, duration

_SECOND = 1e9
#: An iteration that takes longer than this is mentioned while it lasts.
_LONG = 2.0


def state(
    view: View | None, *, process: str = "", last_sample: float = math.nan, script: bool = False
) -> str:
    """`process` is the operating system's word for it; `last_sample` the seconds since one came.

    Of somebody's own `script` less is known: it may have other things to do than its steps.
    """
    if view is None:
        return "starting …"
    if view.failure is not None:
        where = f"iteration {view.failure.iteration:,}" if view.failure.iteration >= 0 else "setup"
        return f"failed in {where}"
    if view.ended is not None:
        how = view.ended.how.rstrip(".")
        return f"{how}, exit code 0" if script and view.ended.code == 0 else how
    if process == "stopped":
        return "the process is stopped (SIGSTOP); `kill -CONT` lets it go on"
    waited = duration(max(0.0, (view.at - view.phase_since) / _SECOND)) if view.phase_since else ""
    if view.phase == "importing":
        return f"importing {view.phase_detail} … {waited}"
    if script and view.phase == "starting" and process:
        return "running, without TensorFlow so far"
    if view.phase in ("starting", "setup"):
        return f"{view.phase} … {waited}"
    if last_sample > _LONG and script:
        return f"{view.iterations:,} it · no step for {duration(last_sample)}"
    if last_sample > _LONG:
        return f"iteration {view.iterations:,} takes {duration(last_sample)} so far"
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
