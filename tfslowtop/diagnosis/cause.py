"""What a cause and a detector are made of. Each module in `causes/` defines one detector with its causes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from ..agent.protocol.names import Activity
from .conditions import Condition
from .facts import Facts
from .finding import Finding
from .names import CauseId
from .rewriting.statement import Change, Statement

#: The curve that shows most causes: the time of each step.
LATENCY = "latency"

#: Makes the change in the user's code, or returns None where the code does not have the form it expects.
MakeChange = Callable[[Statement, Finding], Change | None]
#: Yields findings. None stands for one that costs too little to report; see `make.finding`.
Detect = Callable[[Facts], Iterable[Finding | None]]


class Area(Enum):
    """Where a problem lies. The documentation lists causes by area, in this order."""

    TRACING = "Tracing and compiling"
    GRAPH = "Graphs and Sessions"
    RECREATED = "Objects created again and again"
    STEP = "How the step computes"
    HOST = "Data, copies and other work on the host"
    MEMORY = "Memory"
    MACHINE = "The machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A kind of problem, with everything there is to say about it.

    `advice`, `before` and `after` may contain {name} for the argument or value at fault and {function} for the
    function concerned. A detector that meets a variant of its cause passes `replace(CAUSE, advice=..., ...)`.
    """

    id: CauseId
    area: Area
    headline: str
    """A short phrase for lists, without a full stop."""
    mechanism: str
    """Why it is slow, in one or two sentences."""
    advice: str
    """What to do about it, in one sentence."""
    before: str = ""
    """Example code that has the problem; empty where only a command or a setting helps."""
    after: str
    """The same example without the problem."""
    curve: str = LATENCY
    """The name of the curve that shows it: a gauge, a share, `retraces` or `latency`."""
    scenario: str | None
    """The scenario in the catalogue that demonstrates it."""
    explained_by: tuple[CauseId, ...] = ()
    """Causes of which this one may be a mere symptom, best explanation first."""
    change: MakeChange | None = None
    """None where the change does not follow from the syntax of the line."""
    owns: Activity | None = None
    """The activity of the account that is this problem and nothing else: its time is never another cause's."""
    condition: Condition | None = None
    """For the machine's causes: the readings that show the problem."""

    @property
    def is_machines(self) -> bool:
        """Whether the problem lies outside the program, so that no line of it is at fault."""
        return self.area is Area.MACHINE

    def advise(self, **words: str) -> str:
        """Return the advice for a given argument and function."""
        return _fill(self.advice, {"name": "the value", "function": "the function", **words})

    def example(self, **words: str) -> str:
        """Return the example for a given argument and function."""
        before, after = self.example_parts(**words)
        return f"# before\n{before}\n# after\n{after}" if before else after

    def example_parts(self, **words: str) -> tuple[str, str]:
        """Return the example before and after the change."""
        words = {"name": "value", "function": "function", **words}
        return _fill(self.before, words), _fill(self.after, words)


@dataclass(frozen=True, slots=True)
class Detector:
    """A rule, and the causes it can find."""

    detect: Detect
    causes: tuple[Cause, ...]

    def run(self, facts: Facts) -> list[Finding]:
        """Return what the rule finds, without what costs too little to report."""
        return [finding for finding in self.detect(facts) if finding is not None]


def _fill(template: str, words: dict[str, str]) -> str:
    """Fill in the words by hand: example code has braces of its own."""
    for word, value in words.items():
        template = template.replace("{" + word + "}", value)
    return template
