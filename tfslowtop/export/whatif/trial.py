"""One change that is tried for one finding, and what came of it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from typing import Literal

from ...diagnosis.finding import Finding
from ...diagnosis.names import INPUT_BOUND, OUTPUT_BOUND
from ...state.verdict import SHOWN
from ...stats.effect import Effect, Ratio

How = Literal["live", "patched"]
Status = Literal["kept", "refused", "rolled-back", "failed"]

#: The reason of a trial that nothing has become of.
_ENDED = "The script ended before it could be measured."
#: Causes whose fix saves waiting and not work.
_WAITING = (INPUT_BOUND, OUTPUT_BOUND)


@dataclass(frozen=True, slots=True)
class Measured:
    """How many times faster the program got, over all comparisons."""

    ratio: float
    low: float
    high: float
    cpu: float | None
    """The same for CPU time, or for that of the whole run; None where that is not known."""
    before: float
    after: float
    """Seconds: of a step, or of the whole run."""
    of: Literal["step", "run"]
    comparisons: int

    @classmethod
    def of_effects(cls, effects: list[Effect]) -> Measured | None:
        """Return the typical ratio, with the widest interval of all comparisons."""
        if not effects:
            return None
        cpus = [e.cpu.value for e in effects if e.cpu is not None]
        return cls(
            statistics.median(e.ratio for e in effects),
            min(e.low for e in effects),
            max(e.high for e in effects),
            statistics.median(cpus) if cpus else None,
            statistics.median(e.level_before for e in effects),
            statistics.median(e.level_after for e in effects),
            "step",
            len(effects),
        )

    @classmethod
    def of_runs(cls, wall: Ratio, cpu: float | None, before: float, after: float, runs: int) -> Measured:
        return cls(wall.value, wall.low, wall.high, cpu, before, after, "run", runs)

    @property
    def shows_gain(self) -> bool:
        return self.low > SHOWN


@dataclass(slots=True)
class Trial:
    """A change that is tried for a finding."""

    finding: Finding
    how: How
    change: str
    """What is changed, in words."""
    promised: tuple[float, float]
    """How many times faster a step should get, at least and at most; 0 if unknown."""
    status: Status = "failed"
    reason: str = _ENDED
    effects: list[Effect] = field(default_factory=list)
    whole: Measured | None = None
    """What the change brings for the whole run, if that was measured."""
    same: bool | None = None
    """Whether the results are the same; None if that is not known."""
    same_words: str = ""
    diff: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the script ended before anything could be said."""
        return self.status == "failed" and self.reason == _ENDED

    @property
    def measured(self) -> Measured | None:
        """The effect on a step or, where that shows nothing, on the whole run."""
        step = Measured.of_effects(self.effects)
        if step is None or (not step.shows_gain and self.whole is not None and self.whole.shows_gain):
            return self.whole
        if step.cpu is None and self.whole is not None:
            return replace(step, cpu=self.whole.cpu)
        return step

    @property
    def is_worth_it(self) -> bool:
        measured = self.measured
        if self.status != "kept" or measured is None or not measured.shows_gain:
            return False
        # A busy machine alone makes one run slower than another, but it adds no CPU time.
        waits = self.finding.cause in _WAITING or self.how == "live"
        return waits or measured.cpu is None or measured.cpu > SHOWN
