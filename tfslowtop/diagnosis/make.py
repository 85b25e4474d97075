"""Builds findings of the same shape for all detectors, and formats their numbers."""

from __future__ import annotations

import math

from ..agent.protocol.names import GAUGE_RSS
from .cause import Cause
from .facts import Facts, Site, StreamFacts
from .finding import Basis, Confidence, Finding, Fix
from .names import INPUT_BOUND, SLOW_START, TRACE_SLOW

#: A cause that takes less than this share of the time is not worth fixing: a busy machine alone adds 5 % from
#: run to run.
LEAST_SHARE = 0.05
#: The same for causes whose cost is only an upper bound or an estimate: a share this large remains worth fixing
#: even if half of the estimate is wrong.
LARGE_SHARE = 0.2
#: Anything shorter may be part of a program's start.
LEAST_SECONDS = 0.25


def finding(
    facts: Facts,
    cause: Cause,
    site: Site,
    sentence: str,
    cost: float | None,
    *,
    symbol: str = "",
    since: int = 0,
    confidence: Confidence = "high",
    at_most: bool = False,
    weight: float = 1.0,
    advice: str = "",
    least: float = LEAST_SHARE,
    words: dict[str, str] | None = None,
    **evidence: object,
) -> Finding | None:
    """Build a finding, or return None if it costs less than `least` of the time; 0 reports it at any cost.

    `cost` is measured: the seconds lost, or with `at_most` the seconds spent there. Only `weight` of it counts for
    the order of findings. None is for problems that cost memory instead of time. `advice` replaces that of the
    cause, and `words` fill in the advice and the example.
    """
    counted = (cost or 0.0) * weight
    if cost is not None and least and (facts.share(counted) < least or counted < LEAST_SECONDS):
        return None
    basis: Basis = "not measured" if cost is None else "at most" if at_most or weight < 1 else "measured"
    words = words or {}
    return Finding(
        cause=cause.id,
        file=site[0],
        line=site[1],
        symbol=symbol,
        since_step=since,
        cost_seconds=cost or 0.0,
        share=facts.share(cost or 0.0),
        confidence=confidence,
        sentence=sentence,
        fix=Fix(advice or cause.advise(**words), cause.example(**words)),
        evidence={**evidence, "steps": facts.steps},
        scenario=cause.scenario,
        mechanism=cause.mechanism,
        curve=cause.curve,
        expect=_expected(facts, cause, cost, basis),
        faster=_faster(facts, cause, cost),
        basis=basis,
        weight=weight,
    )


def _expected(facts: Facts, cause: Cause, cost: float | None, basis: Basis) -> str:
    """Say what a step, or the whole run, takes without the cost; for a leak, what becomes of memory."""
    if cost is None:
        rss = facts.gauges.get(GAUGE_RSS)
        return f"Memory stops growing; it is at {size(rss.last)} now." if rss else ""
    if cause.id == SLOW_START:
        return f"The first step comes up to {cost:.1f} s earlier; later steps take as long as before."
    if cause.id == TRACE_SLOW:
        most = "up to " if basis != "measured" else ""
        return f"The first call takes {most}{cost:.1f} s less; later calls take as long as before."
    step, about = facts.step, "about" if basis == "measured" else "at best"
    if step is not None and step.seconds > cost:
        now, then = step.seconds / step.calls, (step.seconds - _saved(facts, cause, step, cost)) / step.calls
        return f"A step takes {about} {ms(then)} on average instead of {ms(now)}."
    return f"The same work takes {about} {max(0.0, facts.seconds - cost):.1f} s instead of {facts.seconds:.1f} s."


def _saved(facts: Facts, cause: Cause, step: StreamFacts, cost: float) -> float:
    """Return how much of a cost can be saved: work that only moves to other threads still needs the cores."""
    if cause.id != INPUT_BOUND or not facts.cores or not math.isfinite(step.cpu):
        return cost
    return max(0.0, min(cost, step.seconds - step.cpu * step.calls / facts.cores))


def _faster(facts: Facts, cause: Cause, cost: float | None) -> float:
    """Return how many times faster a step gets without the cost, or the run where a step does not contain it."""
    if cost is None or cause.id == TRACE_SLOW:
        return 0.0
    step = facts.step
    if step is not None and step.seconds > cost:
        return step.seconds / (step.seconds - _saved(facts, cause, step, cost))
    return facts.seconds / (facts.seconds - cost) if facts.seconds > cost else 0.0


def per_step(count: float, steps: int) -> str:
    """Format a count per step, with a decimal where it is small."""
    each = count / max(1, steps)
    return f"{each:.0f}" if each >= 10 else f"{each:.1f}".removesuffix(".0")


def size(count: float) -> str:
    """Format a number of bytes."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


def ms(seconds: float) -> str:
    """Format a time in milliseconds, from a second on in seconds."""
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{1e3 * seconds:.3g} ms"
