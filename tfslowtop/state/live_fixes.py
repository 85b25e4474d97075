"""The fixes that a script's agent offers, what became of them, and which finding each of them is for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..agent.protocol.events import FixAnswered, FixOffered
from ..agent.protocol.names import FIX_OFF, FIX_ON, FixStatus
from ..diagnosis.finding import Finding

#: The most offers that are kept; an agent makes fewer.
_MOST = 256
#: The largest part of a step that a promise takes away: a share of nearly 1 would promise anything.
_MOST_SAVED = 0.99


@dataclass(frozen=True, slots=True)
class OfferedFix:
    """A fix that can be switched on inside the script, and what became of the last request."""

    id: str
    title: str
    cause: str
    file: str
    line: int
    symbol: str
    status: FixStatus = FIX_OFF
    sentence: str = ""
    """What the agent said about it: why it was refused, or how results were compared."""
    compared: bool = False
    answers: int = 0
    """How many requests were answered."""
    promised: float = 0.0
    """How many times faster a step should get, by the finding when it was switched on; 0 if unknown."""

    def is_for(self, f: Finding) -> bool:
        if f.cause != self.cause:
            return False
        if not self.file:
            return not self.symbol or f.symbol == self.symbol
        return f.file == self.file and (f.line == self.line or f.symbol == self.symbol)


def promised_ratio(f: Finding) -> float:
    """Return how many times faster a step gets without what the finding costs; 0 if that is unknown."""
    if f.basis == "not measured":
        return 0.0
    return min(f.faster or 1.0 / (1.0 - min(_MOST_SAVED, f.share)), 1.0 / (1.0 - _MOST_SAVED))


def promised_ratios(f: Finding) -> tuple[float, float]:
    """Return how many times faster a step gets at least and at most; zeros if that is unknown.

    Of a cost that is only a bound, a fix usually saves the part that counts for the order of findings.
    """
    most = promised_ratio(f)
    if f.basis != "at most" or most <= 1.0:
        return most, most
    usual = f.weight if f.weight < 1.0 else 0.0
    return 1.0 / (1.0 - usual * (1.0 - 1.0 / most)), most


def is_kept(promised: float, measured: float) -> bool:
    """Whether a fix brought at least half of the promised gain."""
    return measured - 1.0 >= (promised - 1.0) / 2


class LiveFixes:
    def __init__(self) -> None:
        self._offers: dict[str, OfferedFix] = {}

    def offer(self, event: FixOffered) -> None:
        if event.id in self._offers or len(self._offers) < _MOST:
            self._offers[event.id] = OfferedFix(
                event.id, event.title, event.cause, event.file, event.line, event.symbol
            )

    def answer(self, event: FixAnswered, findings: Iterable[Finding]) -> None:
        fix = self._offers.get(event.id)
        if fix is None:
            return
        promised = fix.promised
        if event.status == FIX_ON:
            promised = next((promised_ratio(f) for f in findings if fix.is_for(f)), promised)
        self._offers[event.id] = replace(
            fix,
            status=event.status,
            sentence=event.sentence,
            compared=event.compared,
            answers=fix.answers + 1,
            promised=promised,
        )

    def all(self) -> tuple[OfferedFix, ...]:
        return tuple(self._offers.values())

    def link(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return the findings with the ids of the fixes that can be tried on them."""
        return tuple(self._link(f) for f in findings)

    def _link(self, f: Finding) -> Finding:
        fix = next((fix for fix in self._offers.values() if fix.is_for(f)), None)
        return f if fix is None else replace(f, fix=replace(f.fix, live=fix.id))
