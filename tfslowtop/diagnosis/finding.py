"""A cause with its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

Confidence = Literal["high", "medium"]
#: What stands behind `cost_seconds`: the time lost itself; the time spent there, of which the change saves a part
#: that nobody has measured; or nothing, because it costs something else than time.
Basis = Literal["measured", "at most", "not measured"]


@dataclass(frozen=True, slots=True)
class Fix:
    summary: str
    code: str
    """The change as a few lines: what to write instead."""
    live: str | None = None
    """The id of a fix that can be toggled while the program runs."""


@dataclass(frozen=True, slots=True)
class Finding:
    cause: str
    file: str
    line: int
    symbol: str
    since_step: int
    cost_seconds: float
    share: float
    """Of the time since the program first did anything that is watched."""
    confidence: Confidence
    sentence: str
    """Fact and number, in one sentence."""
    fix: Fix
    evidence: dict[str, object] = field(default_factory=dict)
    scenario: str | None = None
    """The scenario of the catalogue that demonstrates it."""
    mechanism: str = ""
    expect: str = ""
    """What the change brings, from what was measured."""
    symptoms: tuple[Finding, ...] = ()
    """What this one explains."""
    basis: Basis = "measured"
    weight: float = 1.0
    """How much of the cost counts for the order of findings; never shown."""

    @property
    def place(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else ""

    @property
    def rank(self) -> float:
        return self.weight * self.cost_seconds

    @property
    def cost_words(self) -> str:
        """What it costs, in a few words that hold."""
        if self.basis == "not measured":
            return "its cost in time is not measured"
        most = "at most " if self.basis == "at most" else ""
        return f"{most}{self.cost_seconds:.1f} s, {100 * self.share:.0f} % of the time"

    @property
    def share_words(self) -> str:
        if self.basis == "not measured":
            return "memory" if self.cause.endswith("-leak") else "not measured"
        if self.share < 0.01:
            return "less than 1 % of the time"
        return f"{'up to ' if self.basis == 'at most' else ''}{100 * self.share:.0f} % of the time"

    @property
    def headline(self) -> str:
        where = f"{self.place} in {self.symbol}" if self.place and self.symbol else self.place or self.symbol
        return f"{self.cause}  {where}".rstrip()

    def with_symptoms(self, symptoms: tuple[Finding, ...]) -> Finding:
        return replace(self, symptoms=symptoms)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.cause, self.file, self.line
