"""The limits of `tfslowtop check`, and what exceeds them."""

from __future__ import annotations

from dataclasses import dataclass

from ..state.session import Session
from ..state.view import View
from .findings import sentence_with_cause
from .wording import times


@dataclass(frozen=True, slots=True)
class Limits:
    """What the script may do."""

    retraces: int | None
    """Avoidable traces of one function."""
    slope: float | None
    """Percent per 100 steps."""
    leak: float | None
    """Bytes per 100 steps."""
    causes: frozenset[str]
    """The causes that fail the check."""


def judge(limits: Limits, view: View, session: Session) -> list[str]:
    """Return a sentence for each limit that is exceeded."""
    broken = []
    if limits.retraces is not None:
        broken += [
            f"{f.function} was retraced {times(f.avoidable)}; the limit is {limits.retraces}."
            for f in session.retraces.functions.values()
            if f.avoidable > limits.retraces
        ]
    step = next((s for s in view.streams if s.is_step), None)
    if limits.slope is not None and step is not None and step.trend is not None:
        t = step.trend
        if t.direction == "rising" and t.percent > limits.slope:
            broken.append(
                f"the step gets slower by {t.percent:.1f} % per 100 steps; the limit is {limits.slope:g} %."
            )
    if limits.leak is not None:
        memory = view.segments[-1].memory if view.segments else None
        if memory is not None and memory.direction == "rising" and 100 * memory.slope > limits.leak:
            broken.append(
                f"memory grows by {100 * memory.slope / 1e6:.2f} MB per 100 steps; "
                f"the limit is {limits.leak / 1e6:g} MB."
            )
    named = [f for f in view.findings if f.cause in limits.causes]
    return broken + [sentence_with_cause(f) for f in named]
