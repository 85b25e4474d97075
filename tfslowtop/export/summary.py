"""The summary of a watched script, for standard error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..agent.protocol.names import PHASE_STARTING
from ..clean import clean
from ..diagnosis.make import ms
from ..state.session import Session
from ..state.view import View
from .account import describe_account
from .findings import describe_findings
from .wording import counted, readable, times


def summary(argv: Sequence[str], view: View, session: Session, stopped_by: str) -> str:
    """Return a few lines with what a person wants to know."""
    script, seconds = clean(" ".join(argv)), session.elapsed(view.at)
    watched = f" after {seconds:.1f} s" if seconds else " while nobody was watching"
    lines = [f"tfslowtop: {script}: {_ending(view, stopped_by)}{watched}"]
    step = next((s for s in view.streams if s.is_step), None)
    # The version is known only after its first op.
    if seconds and not view.tensorflow and view.phase == PHASE_STARTING:
        unseen = "" if step else ": its iterations are not counted, and shares are of the whole run"
        lines.append(f"  It never imported TensorFlow{unseen}.")
    if step is not None:
        place = f" ({Path(step.file).name}:{step.line})" if step.file else ""
        lines.append(
            f"  step: {readable(step.name)}{place}, {times(step.calls)}, median {ms(step.median)}, "
            f"p95 {ms(step.p95)}, {step.words or 'unclear'}"
        )
    lines += describe_findings(view)
    lines += describe_account(view.account)
    lines += [f"  note: {text}" for text in view.notes]
    if view.lost:
        lines.append(f"  dropped: {counted(view.lost, 'sample')}")
    return "\n".join(lines)


#: How a script ended whose time was up, by the last signal that it got.
_STOPPED = {
    "SIGINT": "stopped by --max-seconds with Ctrl-C",
    "SIGTERM": "stopped by --max-seconds with SIGTERM, since Ctrl-C did not end it,",
    "SIGKILL": "stopped by --max-seconds with SIGKILL, since neither Ctrl-C nor SIGTERM ended it,",
}


def _ending(view: View, stopped_by: str) -> str:
    if stopped_by:
        return _STOPPED[stopped_by]
    if view.ended is None:
        return "still running"
    return "ended" if view.ended.code == 0 else view.ended.how.rstrip(".")
