"""What the screen shows, as one immutable value. Made off the screen's thread, discarded after painting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..agent.protocol.events import Ended, Failed, Trace
from ..agent.protocol.names import PHASE_STARTING, GaugeName, PhaseName
from ..diagnosis.finding import Finding
from ..stats.effect import Effect
from ..stats.series import Curve
from ..stats.spread import Spread
from ..stats.trend import Trend
from .account import AccountView
from .live_fixes import OfferedFix
from .streams import StreamView

#: Characters of the target's own output that are kept.
MAX_OUTPUT = 200_000
#: The window of a curve: from and to, in ns, and the number of columns.
Window = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PanelView:
    """One quantity: its curve and the numbers beside it, in the unit that `unit` names."""

    name: str
    unit: str
    """'s', 'B', '%' of the time, or '' for a count."""
    curve: Curve
    now: float
    median: float
    p95: float
    trend: Trend | None
    words: str
    """The verdict: `rising +3.1 %/100 it`, `flat`, `+0.4 MB/it leak`."""
    spread: Spread | None = None
    """For latency since the last toggle, for others since the beginning; a running count has none."""
    base: float = math.nan
    """What is drawn is the growth since this value; NaN where the value itself is drawn."""
    base_at: int = 0

    @property
    def has_base(self) -> bool:
        return not math.isnan(self.base)

    @property
    def shown(self) -> float:
        """The newest value as it is drawn."""
        return self.now - self.base if self.has_base else self.now


@dataclass(frozen=True, slots=True)
class Mark:
    """A toggle: when it happened, which fixes were active after it, and which of them it changed."""

    at: int
    iteration: int
    fixes: tuple[str, ...]
    changed: tuple[str, ...]
    effect: Effect | None = None
    """What the toggle did, against what was right before it."""
    total: Effect | None = None
    """What all active fixes do together, against the time without any, if that was not right before it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The iterations between two toggles: which fixes were active, and the trends of latency and memory."""

    mark: Mark
    latency: Trend | None
    memory: Trend | None
    pause_share: float
    gained: float
    """The growth of memory over the segment, as a share of its level."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """An A/B test: blocks of two sets of fixes in random order, each with its own state."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    blocks: int
    """Pairs of blocks so far."""
    running: bool
    effect: Effect | None
    since: int = 0
    """The iteration at which it began."""
    medians: tuple[tuple[float, float], ...] = ()
    """The typical time of each pair's blocks in seconds, oldest first."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """What is constant about a GPU; its readings are called `gpu.<label>.…`."""

    label: str
    name: str = ""
    number: int | None = None
    """TensorFlow's number for it; None if unknown."""
    visible: bool | None = None
    """Whether CUDA shows it to the target; None if unknown."""


@dataclass(frozen=True, slots=True)
class View:
    phase: PhaseName
    phase_detail: str
    phase_since: int
    at: int
    pid: int
    python: str
    tensorflow: str
    devices: tuple[str, ...]
    iterations: int
    rate: float
    """Iterations per second, over the last seconds."""
    folded: int
    lost: int
    fixes: tuple[str, ...]
    """Those that the target has confirmed, not those that were requested."""
    panels: tuple[PanelView, ...]
    segments: tuple[Segment, ...]
    comparison: Comparison | None
    streams: tuple[StreamView, ...]
    """Everything that repeats, most expensive first."""
    retraced: tuple[str, ...]
    """Functions that were traced repeatedly, and which argument is to blame."""
    findings: tuple[Finding, ...]
    """What is wrong, most expensive first; scripts only."""
    healthy: str
    """The sentence that is shown when nothing is wrong."""
    step: int | None
    step_why: str
    traces: int
    trace_seconds: float
    last_traces: tuple[Trace, ...]
    notes: tuple[str, ...]
    failure: Failed | None
    ended: Ended | None
    offers: tuple[OfferedFix, ...] = ()
    """What can be fixed inside the running script, in the order of the offers."""
    last_step_at: int = 0
    """When the newest iteration of the step began; 0 before the first."""
    process_state: str = ""
    """The operating system's word for the target's process, such as `sleeping` or `stopped`."""
    cores_busy: bool = False
    """Whether every core of the machine was busy during the last second."""
    output: str = ""
    """The end of the target's own output."""
    account: AccountView = field(default_factory=AccountView)
    """Where the time goes."""
    readings: Mapping[GaugeName, float] = field(default_factory=dict)
    """The newest value of each gauge of the sensors and of TensorFlow's allocator."""
    histories: Mapping[GaugeName, tuple[float, ...]] = field(default_factory=dict)
    """One value a second of a few of them, newest last; NaN where there was none."""
    gpus: tuple[Gpu, ...] = ()
    no_gpu: str = ""
    """Why there is none, in a sentence; empty where there is one, or while that is unknown."""

    @classmethod
    def empty(cls) -> View:
        """Before anything is known."""
        return cls(
            phase=PHASE_STARTING,
            phase_detail="",
            phase_since=0,
            at=0,
            pid=0,
            python="",
            tensorflow="",
            devices=(),
            iterations=0,
            rate=math.nan,
            folded=0,
            lost=0,
            fixes=(),
            panels=(),
            segments=(),
            comparison=None,
            streams=(),
            retraced=(),
            findings=(),
            healthy="",
            step=None,
            step_why="",
            traces=0,
            trace_seconds=0.0,
            last_traces=(),
            notes=(),
            failure=None,
            ended=None,
        )

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The toggles, oldest first."""
        return tuple(segment.mark for segment in self.segments if segment.mark.changed)

    @property
    def newest_comparison(self) -> Comparison | None:
        """The A/B test, unless a fix was toggled after it."""
        comparison, marks = self.comparison, self.marks
        if comparison is None or not (comparison.running or comparison.effect):
            return None
        return comparison if not marks or comparison.since >= marks[-1].iteration else None

    def panel(self, name: str) -> PanelView | None:
        return next((panel for panel in self.panels if panel.name == name), None)
