"""Makes findings of the same shape for all rules."""

from __future__ import annotations

from .facts import Facts
from .finding import Basis, Confidence, Finding, Fix
from .texts import TEXTS, Text

#: A cause that takes less than this share of the time is not worth anybody's: 5 % is what a busy machine
#: adds by itself from run to run.
LEAST_SHARE = 0.05
#: Less than this says nothing about a program, only about its start.
LEAST_SECONDS = 0.25


def finding(
    facts: Facts,
    cause: str,
    place: tuple[str, int],
    sentence: str,
    cost: float | None,
    *,
    symbol: str = "",
    since: int = 0,
    confidence: Confidence = "high",
    at_most: bool = False,
    weight: float = 1.0,
    remedy: str = "",
    least: float = LEAST_SHARE,
    names: dict[str, str] | None = None,
    text: Text | None = None,
    **evidence: object,
) -> Finding | None:
    """A finding, or nothing if it costs too little; with `least` of 0 it is made whatever it costs.

    `cost` is what was measured: the seconds lost, or those spent there (`at_most`), of which `weight` counts
    for the order. None is for what is not paid in time. `text` is for what is told otherwise than the cause is.
    """
    counts = (cost or 0.0) * weight
    if cost is not None and least and (facts.share(counts) < least or counts < LEAST_SECONDS):
        return None
    basis: Basis = "not measured" if cost is None else "at most" if at_most or weight < 1 else "measured"
    text = text or TEXTS[cause]
    words = {"name": "the value", "function": "the function", **(names or {})}

    def fill(template: str) -> str:
        for word, value in words.items():
            template = template.replace("{" + word + "}", value)
        return template

    return Finding(
        cause=cause, file=place[0], line=place[1], symbol=symbol, since_step=since,
        cost_seconds=cost or 0.0, share=facts.share(cost or 0.0), confidence=confidence, basis=basis, weight=weight,
        sentence=sentence, fix=Fix(remedy or fill(text.remedy), fill(text.code)),
        evidence={**evidence, "steps": facts.steps}, scenario=text.scenario, mechanism=text.mechanism,
        expect=expected(facts, cause, cost, basis),
    )  # fmt: skip


def expected(facts: Facts, cause: str, cost: float | None, basis: Basis) -> str:
    """What is left of a step, or of the whole, without what it costs; of what costs no time, what becomes of memory."""
    if cost is None:
        rss = facts.gauges.get("rss")
        return f"Memory stays where it was, instead of growing on from {size(rss.last)}." if rss else ""
    if cause == "trace-slow":
        least = ", at best" if basis != "measured" else ""
        return f"The first call takes {cost:.1f} s less{least}; those after it take what they took."
    step, about = facts.step, "about" if basis == "measured" else "at best"
    if step is not None and step.seconds > cost:
        now, then = step.seconds / step.calls, (step.seconds - cost) / step.calls
        return f"A step takes {about} {ms(then)} on average instead of {ms(now)}."
    return f"The same work takes {about} {max(0.0, facts.seconds - cost):.1f} s instead of {facts.seconds:.1f} s."


def per_step(count: float, steps: int) -> str:
    each = count / max(1, steps)
    return f"{each:.0f}" if each >= 10 else f"{each:.1f}".removesuffix(".0")


def size(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


def ms(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{1e3 * seconds:.3g} ms"
