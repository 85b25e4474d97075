"""A finding: a cause with its place in the program, its evidence and its cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from .names import LEAKS, SESSION_LEAK, CauseId

Confidence = Literal["high", "medium"]
#: What `cost_seconds` stands for: the time lost; the time spent there, of which a fix saves an unknown part; or
#: nothing, because the problem costs memory and not time.
Basis = Literal["measured", "at most", "not measured"]


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do about a finding."""

    summary: str
    code: str
    """An example of the change, in a few lines."""
    live: str | None = None
    """The id of a fix that can be toggled while the program runs."""


@dataclass(frozen=True, slots=True)
class Finding:
    cause: CauseId
    file: str
    line: int
    symbol: str
    since_step: int
    cost_seconds: float
    share: float
    """Share of the time since the program first did anything that is watched."""
    confidence: Confidence
    sentence: str
    """The evidence with its numbers, in one sentence."""
    fix: Fix
    evidence: dict[str, object] = field(default_factory=dict)
    scenario: str | None = None
    """The scenario in the catalogue that demonstrates it."""
    mechanism: str = ""
    curve: str = "latency"
    """The name of the curve that shows it."""
    expect: str = ""
    """What a fix should bring, judging by the measurements."""
    faster: float = 0.0
    """How many times faster that makes a step, or else the run; 0 if unknown."""
    symptoms: tuple[Finding, ...] = ()
    """The findings that this one explains."""
    basis: Basis = "measured"
    weight: float = 1.0
    """The part of the cost that counts for the order of findings; never shown."""

    @property
    def place(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else ""

    @property
    def rank(self) -> float:
        return self.weight * self.cost_seconds

    @property
    def cost_words(self) -> str:
        """The cost in a few words that are true whatever its basis."""
        if self.basis == "not measured":
            return "its cost in time is not measured"
        most = "at most " if self.basis == "at most" else ""
        return f"{most}{self.cost_seconds:.1f} s, {100 * self.share:.0f} % of the time"

    @property
    def share_words(self) -> str:
        """The share of the time in a few words."""
        if self.basis == "not measured":
            return "memory" if self.cause in (SESSION_LEAK, *LEAKS) else "not measured"
        if self.share < 0.01:
            return "less than 1 % of the time"
        return f"{'up to ' if self.basis == 'at most' else ''}{100 * self.share:.0f} % of the time"

    @property
    def label(self) -> str:
        """The cause and where it is, for a title or a list."""
        return f"{self.cause}  {self.where}".rstrip()

    @property
    def where(self) -> str:
        """The line, and what it is about: the function that it calls, the container that it fills."""
        if not self.place or not self.symbol or self.symbol in self.place or self.symbol.startswith("<"):
            return self.place or self.symbol
        return f"{self.place} ({self.symbol})"

    def with_symptoms(self, symptoms: tuple[Finding, ...]) -> Finding:
        return replace(self, symptoms=symptoms)

    def with_cost(self, cost: float, seconds: float) -> Finding:
        """Return the finding with another cost; the program ran for `seconds`."""
        share = cost / seconds if seconds > 0 else 0.0
        return replace(self, cost_seconds=cost, share=share, basis="at most", faster=0.0)

    @property
    def key(self) -> tuple[CauseId, str, int]:
        return self.cause, self.file, self.line
