"""Runs every detector and ranks the findings by cost, with symptoms under the findings that explain them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .facts import Facts
from .finding import Finding
from .names import SLOW_START
from .registry import causes, detectors

#: An explanation has to cost at least this share of its symptom.
LEAST_EXPLANATION = 0.25


def diagnose(facts: Facts) -> tuple[Finding, ...]:
    """Return what is wrong, most expensive first, and the machine's problems after the program's own."""
    found = [f for detector in detectors().values() for f in detector.run(facts)]
    if not any(f.cause == SLOW_START for f in found):
        return arrange(found, facts.seconds)
    # The time before the program did anything that is watched is part of the whole, too.
    whole = max(facts.elapsed, facts.seconds)
    return arrange([replace(f, share=min(1.0, f.cost_seconds / whole)) for f in found], whole)


def arrange(found: list[Finding], seconds: float) -> tuple[Finding, ...]:
    """Order findings by cost and put symptoms under their explanations; the program ran for `seconds`."""
    explained: dict[int, Finding] = {}
    # Cheapest first: where causes explain each other in a circle, the most expensive one finds it closed.
    for f in sorted(found, key=lambda f: _cost(f, seconds)):
        cause = next((c for c in _explanations(f, found) if not _leads_to(c, f, explained)), None)
        if cause is not None:
            explained[id(f)] = cause
    under: dict[int, list[Finding]] = {}
    for f in found:
        if id(f) in explained:
            under.setdefault(id(explained[id(f)]), []).append(f)
    roots = [f for f in found if id(f) not in explained]
    roots.sort(key=lambda f: (causes()[f.cause].owns is None, -_cost(f, seconds)))
    paid = list(_paid([f.with_symptoms(tuple(_all_under(f, under))) for f in roots], seconds))
    return tuple(sorted(paid, key=lambda f: (causes()[f.cause].is_machines, -_cost(f, seconds))))


def _paid(roots: list[Finding], seconds: float) -> Iterator[Finding]:
    """Pay the costs out of the time there was, in order, so that they never add up to more than all of it."""
    left = seconds
    for f in roots:
        if causes()[f.cause].is_machines or f.basis == "not measured":
            yield f  # the machine slows down the same time that the program's own problems take
            continue
        cost = min(f.cost_seconds, max(0.0, left))
        left -= cost
        yield f if cost == f.cost_seconds else f.with_cost(cost, seconds)


def _leads_to(cause: Finding, symptom: Finding, explained: dict[int, Finding]) -> bool:
    """Return whether the explanations of a cause lead back to what it would explain."""
    at: Finding | None = cause
    while at is not None and at is not symptom:
        at = explained.get(id(at))
    return at is symptom


def _cost(f: Finding, seconds: float) -> float:
    """Return the cost for the order; a share of the memory counts like the same share of the time."""
    share = f.evidence.get("memory_share")
    return seconds * share if f.basis == "not measured" and isinstance(share, float) else f.rank


def _all_under(f: Finding, under: dict[int, list[Finding]]) -> list[Finding]:
    """Return all symptoms of a finding, and theirs, most expensive first."""
    result = []
    for symptom in under.get(id(f), ()):
        result += [symptom, *_all_under(symptom, under)]
    return sorted(result, key=lambda s: -s.rank)


def _explanations(f: Finding, found: list[Finding]) -> Iterator[Finding]:
    """Iterate over the findings that may explain another one, best explanation first."""
    # A function of the user's own is traced again for reasons of its own, unless both are at the same line.
    own_function = f.evidence.get("function_library") is False
    for cause in causes()[f.cause].explained_by:
        for other in found:
            if other is f or other.cause != cause or (own_function and other.key[1:] != f.key[1:]):
                continue
            if "not measured" in (f.basis, other.basis) or other.rank >= LEAST_EXPLANATION * f.rank:
                yield other
