"""The measurements of a run, gathered into one immutable value that every detector reads."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..agent.protocol.names import (
    GAUGE_CPU_SECONDS,
    GAUGE_CPUS_ALLOWED,
    PHASE_STARTING,
    REASON_NEW_INSTANCE,
    STREAM_DATA_WAIT,
    STREAM_EVALUATE,
    STREAM_FIT,
    STREAM_FIT_CALL,
    STREAM_FUNCTION,
    STREAM_GC,
    STREAM_LIBRARY_FUNCTION,
    STREAM_LOOP,
    STREAM_MARKED,
    STREAM_PREDICT,
    STREAM_TRAIN_ON_BATCH,
    TALLY_WHERE,
    GaugeName,
    StreamKind,
    TallyKind,
)
from ..state.account import AccountView
from ..state.retraces import FunctionTraces
from ..state.streams import StreamStats
from ..stats.blocks import Stretch
from ..stats.trend import Trend
from .ledger import Entry
from .machine_episodes import MachineEpisode, with_steps
from .names import RETRACE_REASONS, CauseId

if TYPE_CHECKING:
    from ..state.session import Session

#: A file and a line of it.
Site = tuple[str, int]

#: The share of a tally that has to come in the second half of the steps. What a program does while it warms up, for
#: its first epoch say, has all but ended by then.
ONGOING = 0.2
#: Equal parts of the run for which CPU time per step is known: enough to tell a rise from one disturbed part.
PARTS = 6
#: Equal parts of the steps that are searched for jumps: a program goes through few stages, of a good length each.
STAGES = 12
#: With more traces than this, no single one begins a stage of its own; and a stage with fewer iterations has no
#: median to rely on.
TRACED_STAGES = 6
LEAST_ITERATIONS = 9
#: The share of the rise that has to come in two jumps, or at traces, for it to be stages and not growth. Growth
#: spreads evenly: two of eleven parts hold about a fifth of it, and noise doubles that.
JUMPS = 0.7
TRACED_RISE = 0.5
#: The share of iterations whose CPU time has to be known to use it in place of wall time, which a busy machine adds
#: to.
CPU_KNOWN = 0.9
#: With fewer iterations the excess over the early ones is mostly noise.
LEAST_FOR_EXCESS = 20


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A stream: something that repeats."""

    id: int
    name: str
    kind: StreamKind
    file: str
    line: int
    calls: int
    seconds: float
    median: float
    cpu: float
    """For the step: CPU seconds per iteration where they are known, else NaN."""
    trend: Trend | None
    is_step: bool
    first_at: int
    excess: float
    """For the step: seconds above what its iterations took at the start."""
    staged: bool = False
    """For the step: whether its time rose in stages that the program goes through."""
    longest: float = 0.0
    """For waiting for data: the longest wait, in seconds."""
    library: bool = False
    """Whether its code is a library's and not the user's own."""

    @property
    def site(self) -> Site:
        return self.file, self.line

    @property
    def is_users(self) -> bool:
        """Whether it is at a line that the user can change."""
        return bool(self.file) and not self.library


@dataclass(frozen=True, slots=True)
class TallyFacts:
    """A tally: how often a line of the user's code did something."""

    what: TallyKind
    symbol: str
    file: str
    line: int
    count: int
    seconds: float
    size: int
    late: float
    """The share that came in the second half of the steps."""
    since: int
    growth: float = 0.0
    """Seconds it took in the second half of the steps beyond those in the first half."""
    library: bool = False
    """Whether the line is a library's and not the user's own."""
    package: str = ""
    module: str = ""
    function_line: int = 0
    array: str = ""
    container: str = ""
    bounded: bool = False
    inside: str = ""
    native: bool = False
    before: float = 0.0
    """Seconds before the first step."""

    @property
    def site(self) -> Site:
        return self.file, self.line

    @property
    def is_ongoing(self) -> bool:
        """Whether it still happens in the second half of the steps."""
        return self.late > ONGOING

    @property
    def is_users(self) -> bool:
        """Whether it is a line that the user can change."""
        return bool(self.file) and not self.library


@dataclass(frozen=True, slots=True)
class RetraceReason:
    """Why a function was traced again, for one argument."""

    argument: str
    cause: CauseId
    count: int
    values: int
    """How many different values there were."""
    before: str
    after: str
    after_class: str = ""
    dtypes: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """A function and its traces."""

    function: str
    file: str
    line: int
    user_file: str
    user_line: int
    count: int
    nested: int
    calls: int
    seconds: float
    avoidable: int
    """Traces a code change would avoid, inside no other trace."""
    avoidable_seconds: float
    late: int
    """The avoidable traces that came in the second half of the calls."""
    since: int
    longest: float
    jit: bool
    instances: int
    """First traces of further instances of the same class."""
    called_with: str
    reasons: tuple[RetraceReason, ...]
    batch_sizes: tuple[int, ...] = ()
    library: bool = False
    """Whether it is a library's and not the user's own."""

    @property
    def site(self) -> Site:
        return self.file, self.line

    @property
    def call_site(self) -> Site:
        """The line of the user's code that calls it, where known, else the function itself."""
        return (self.user_file, self.user_line) if self.user_file else self.site


@dataclass(frozen=True, slots=True)
class GaugeFacts:
    """A gauge."""

    first: float
    last: float
    largest: float
    trend: Trend | None
    rise: float = 0.0
    """How far its minimum in the last third of the steps exceeds its maximum in the first third."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that detectors know about a run."""

    seconds: float
    """Time since the program first did anything that is watched."""
    steps: int
    step: StreamFacts | None
    training: bool
    """Whether the step trains a model."""
    streams: tuple[StreamFacts, ...]
    tallies: tuple[TallyFacts, ...]
    functions: tuple[FunctionFacts, ...]
    gauges: dict[GaugeName, GaugeFacts] = field(default_factory=dict)
    episodes: tuple[MachineEpisode, ...] = ()
    """When the machine slowed the program."""
    clock: int = 0
    """The time of day minus the time of the events, in ns."""
    ended: bool = False
    failed: bool = False
    alone: bool = False
    """Whether the program uses NumPy without TensorFlow."""
    cpu_paces: tuple[float, ...] = ()
    """CPU seconds of the process per step, in equal parts of the steps."""
    elapsed: float = 0.0
    """Seconds since the program was started."""
    before: float = 0.0
    """Seconds from then until the first step."""
    account: AccountView = field(default_factory=AccountView)
    """Where the time of the main thread went, by activity and line; empty where that is not known."""
    cores: float = 0.0
    """The cores that the process may use; 0 if unknown."""

    def streams_of(self, *kinds: StreamKind) -> list[StreamFacts]:
        """Return the streams of these kinds, most expensive first."""
        return sorted((c for c in self.streams if c.kind in kinds), key=lambda c: -c.seconds)

    def tallies_of(self, *what: TallyKind) -> list[TallyFacts]:
        """Return the tallies of these kinds, most frequent first."""
        return sorted((c for c in self.tallies if c.what in what), key=lambda c: -c.count)

    def share(self, seconds: float) -> float:
        """Return seconds as a share of the run."""
        return min(1.0, seconds / self.seconds) if self.seconds > 0 else 0.0

    def seconds_at(self, site: Site) -> float:
        """Return how long the main thread was seen at a line."""
        return sum(c.seconds for c in self.tallies if c.what == TALLY_WHERE and c.site == site)

    def most_iterations(self) -> int:
        """Return the iterations of the loop that iterates most often, the step included."""
        return max(
            (c.calls for c in self.streams if c.kind in (STREAM_LOOP, STREAM_FIT, STREAM_MARKED)),
            default=self.steps,
        )


def short(file: str) -> str:
    """Return a path without its directories."""
    return file.rsplit("/", 1)[-1]


def keras_lines(facts: Facts) -> set[Site]:
    """Return the lines that call Keras methods, which create datasets and iterators of their own."""
    kinds = (STREAM_PREDICT, STREAM_EVALUATE, STREAM_FIT_CALL, STREAM_FIT, STREAM_TRAIN_ON_BATCH)
    return {c.site for c in facts.streams_of(*kinds)}


def gather(session: Session, now: int) -> Facts:
    """Gather the facts as of now."""
    streams = list(session.streams.all.values())
    step = session.streams.all.get(session.step.stream.id) if session.step.stream else None
    number, since = _numbering(step), session.since
    retraced_at = sorted(at for f in session.retraces.functions.values() for at, _ in f.newest_avoidable)
    calls = tuple(_call(s, s is step, since, retraced_at) for s in streams if s.calls)
    steps = step.calls if step else 0
    alone = session.about.tensorflow == "" and session.phase.name == PHASE_STARTING
    functions = _functions(streams)
    # A TensorFlow program without steps is still at its beginning, where nothing counts as early.
    middle = session.ledger.middle if alone else 0
    seen = sum(e.tally.wall for e in session.ledger.entries.values() if e.tally.what == TALLY_WHERE)
    return Facts(
        seconds=session.worked(now) if since else seen / 1e9,
        steps=steps,
        step=next((c for c in calls if c.is_step), None),
        training=session.step.trains,
        streams=calls,
        tallies=tuple(_count(e, steps, middle, step) for e in session.ledger.entries.values()),
        functions=tuple(
            _traced(f, functions.get((f.file, f.line)), number) for f in session.retraces.functions.values()
        ),
        gauges={name: _gauge(session, name) for name in session.gauges},
        episodes=_episodes(session, step),
        clock=session.clock,
        ended=session.ended is not None,
        failed=session.ended is not None and session.ended.code != 0,
        alone=alone,
        cpu_paces=session.gauges.paces(GAUGE_CPU_SECONDS, PARTS),
        elapsed=session.elapsed(now),
        before=session.elapsed(step.first_at) if step else 0.0,
        account=session.account.view(),
        cores=session.readings.get(GAUGE_CPUS_ALLOWED, 0.0),
    )


def _count(e: Entry, steps: int, middle: int, step: StreamStats | None) -> TallyFacts:
    t = e.tally
    before = e.before(step.first_at) / 1e9 if step and t.what == TALLY_WHERE else 0.0
    return TallyFacts(
        t.what, t.symbol, t.file, t.line, t.count, t.wall / 1e9, t.size, e.late(steps, middle), e.since,
        e.growth(steps) / 1e9, t.library, t.package, t.module, t.function_line, t.array, t.container, t.bounded, t.inside, t.native, before,
    )  # fmt: skip


def _gauge(session: Session, name: GaugeName) -> GaugeFacts:
    first, last, largest, _ = session.gauges.summary(name)
    return GaugeFacts(first, last, largest, session.gauges.trend(name), session.gauges.rise(name))


def _episodes(session: Session, step: StreamStats | None) -> tuple[MachineEpisode, ...]:
    found = session.machine_episodes.all()
    if step is None:
        return found
    kept, tail = step.blocks.stretch(), step.blocks.tail()
    return tuple(with_steps(episode, kept, tail) for episode in found)


def _call(s: StreamStats, is_step: bool, since: int, retraced_at: list[int]) -> StreamFacts:
    calls, seconds, cpu, excess, staged, longest = s.calls, s.seconds, math.nan, 0.0, False, 0.0
    if is_step:  # nobody needs these of other streams, of which there may be hundreds
        kept = s.blocks.stretch()
        known = kept.cpu[np.isfinite(kept.cpu) & (kept.cpu > 0)]
        cpu = float(np.median(known)) if len(known) else math.nan
        excess = _excess(kept.wall, s.calls)
        staged = _in_jumps(kept.wall) > JUMPS or _at_traces(kept, retraced_at) > TRACED_RISE
    elif s.kind == STREAM_DATA_WAIT and len(kept := s.blocks.stretch()):
        longest = float(kept.wall.max())
    elif s.kind == STREAM_GC and len(kept := s.blocks.stretch()):
        own = kept.start >= since
        calls, seconds = (
            round(calls * own.mean()),
            seconds * float(kept.wall[own].sum() / max(kept.wall.sum(), 1e-12)),
        )
    return StreamFacts(
        id=s.info.id, name=s.info.name, kind=s.kind, file=s.info.file, line=s.info.line, calls=calls,
        seconds=seconds, median=s.median if math.isfinite(s.median) else s.seconds / max(1, s.calls),
        cpu=cpu, trend=s.trend, is_step=is_step, first_at=s.first_at, excess=excess,
        staged=staged, longest=longest, library=s.info.library,
    )  # fmt: skip


def _excess(wall: np.ndarray, calls: int) -> float:
    """Return the time beyond the early pace, which leaves out the very first iterations as a warm-up."""
    if len(wall) < LEAST_FOR_EXCESS:
        return 0.0
    early = float(np.median(wall[len(wall) // 20 : len(wall) // 5 + 1]))
    return float(np.maximum(wall - early, 0.0).mean()) * calls


def _in_jumps(wall: np.ndarray) -> float:
    """Return the share of all rises that came in two jumps."""
    if len(wall) < 4 * STAGES:
        return 0.0
    levels = [float(np.median(part)) for part in np.array_split(wall, STAGES)]
    rises = sorted((max(0.0, b - a) for a, b in itertools.pairwise(levels)), reverse=True)
    return sum(rises[:2]) / sum(rises) if sum(rises) > 0 else 0.0


def _at_traces(kept: Stretch, retraced_at: list[int]) -> float:
    """Return the share of the rise that came when a function was traced for something new.

    Between two traces all iterations do the same work, unless something grows.
    """
    cuts = [cut for cut in np.unique(np.searchsorted(kept.start, retraced_at)) if 0 < cut < len(kept)]
    if not 0 < len(cuts) < TRACED_STAGES:
        return 0.0
    known = np.mean(np.isfinite(kept.cpu) & (kept.cpu > 0)) >= CPU_KNOWN
    took = kept.cpu if known else kept.wall
    stages = [part for part in np.split(took, cuts) if len(part) >= LEAST_ITERATIONS]
    ends = [[float(np.nanmedian(third)) for third in np.array_split(part, 3)] for part in stages]
    rise = ends[-1][-1] - ends[0][0] if ends else 0.0
    return 1.0 - sum(last - first for first, _, last in ends) / rise if rise > 0 else 0.0


def _numbering(step: StreamStats | None) -> Callable[[int], int]:
    """Return a function from a time to the number of the step at that time."""
    if step is None:
        return lambda at: 0
    kept = step.blocks.stretch()
    return lambda at: (
        int(kept.index[np.searchsorted(kept.start, at, "right") - 1])
        if len(kept) and at >= kept.start[0]
        else 0
    )


def _functions(streams: list[StreamStats]) -> dict[tuple[str, int], StreamStats]:
    """Return the stream of each function by its site; of several, the one with most calls."""
    found: dict[tuple[str, int], StreamStats] = {}
    for s in streams:
        place = (s.info.file, s.info.line)
        if s.kind in (STREAM_FUNCTION, STREAM_LIBRARY_FUNCTION) and (
            place not in found or s.calls > found[place].calls
        ):
            found[place] = s
    return found


def _traced(f: FunctionTraces, stats: StreamStats | None, number: Callable[[int], int]) -> FunctionFacts:
    newest, late = f.newest_avoidable, f.avoidable
    if newest and stats is not None and stats.calls and len(kept := stats.blocks.stretch()):
        middle = kept.start[np.searchsorted(kept.index, stats.calls / 2) - 1 if len(kept) > 1 else 0]
        # Where more happened than are kept, the newest stand for all.
        late -= late * bisect.bisect_left(newest, (int(middle), 0)) // len(newest)
    user = f.callers.most_common(1)[0][0] if f.callers else ("", 0)
    blames = sorted(f.blames.values(), key=lambda b: -b.count)
    return FunctionFacts(
        function=f.function, file=f.file, line=f.line, user_file=user[0], user_line=user[1],
        count=f.count, nested=f.nested, calls=max(stats.calls if stats else 0, f.count - f.nested),
        seconds=f.seconds, avoidable=f.avoidable, avoidable_seconds=f.avoidable_seconds,
        late=late, since=number(newest[0][0]) if newest else 0, longest=f.longest / 1e9, jit=f.jit,
        instances=sum(b.count for b in blames if b.cause == REASON_NEW_INSTANCE), called_with=f.called_with,
        reasons=tuple(
            RetraceReason(
                b.argument, CauseId(b.cause), b.count, len(b.values), b.example.before, b.example.after,
                b.example.after_class, (b.example.before_dtype, b.example.after_dtype),
            )
            for b in blames
            if CauseId(b.cause) in RETRACE_REASONS
        ),
        batch_sizes=f.batch_sizes,
        library=f.library,
    )  # fmt: skip
