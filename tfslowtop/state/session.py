"""Everything known about one run: events in, an immutable view out.

One thread owns it. Its memory is bounded: of every list only the newest entries stay.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..agent.protocol import events
from ..agent.protocol.events import SAMPLE
from ..agent.protocol.names import (
    GAUGE_RSS,
    GAUGE_TENSORS_KEPT,
    GPU_PREFIX,
    PHASE_STARTING,
    STREAM_KERNEL,
    TALLY_KEPT_TENSOR,
    TF_GPU_PREFIX,
    GaugeName,
)
from ..diagnosis import registry
from ..diagnosis.engine import diagnose
from ..diagnosis.facts import gather
from ..diagnosis.finding import Finding
from ..diagnosis.healthy import healthy
from ..diagnosis.ledger import Ledger
from ..diagnosis.machine_episodes import MachineEpisodes
from ..stats.blocks import Stretch
from .account import Account, AccountView
from .gauges import MOST as MOST_GAUGES
from .gauges import Gauges
from .live_fixes import LiveFixes
from .notes import Notes
from .readings import KnownGpus, Reading, Sensed
from .recent_readings import Recent
from .retraces import MOST_FUNCTIONS, Retraces
from .shares import Shares
from .step import Step
from .streams import MOST_STREAMS, Streams
from .traces import Traces
from .view import MAX_OUTPUT, Gpu, View

_SECOND = 1_000_000_000
#: Trends and effects are recomputed this often; curves at every view.
_RECOMPUTE_EVERY = _SECOND
#: A larger reading counts as missing: its sums and squares would overflow.
_LARGEST = 1e30
#: The most counted lines, readings, and streams that lost samples. An entry of the ledger takes up to 12 KB.
_MOST_TALLIES, _MOST_READINGS, _MOST_LOSERS = 2_000, 1_000, 10_000


def drawn(name: GaugeName) -> bool:
    """Whether a sensor's gauge has a curve of its own."""
    return name == GAUGE_RSS or (name.startswith(GPU_PREFIX) and name.endswith(".memory"))


class Session:
    def __init__(self) -> None:
        self.streams = Streams()
        self.gauges = Gauges()
        self.step = Step(on_toggle=self.gauges.toggle)
        self.retraces = Retraces()
        self.ledger = Ledger()
        self.account = Account()
        self.machine_episodes = MachineEpisodes(registry.conditions())
        self.clock = 0
        """The time of day minus the time of the events, in ns: to say when something was."""
        self.failure: events.Failed | None = None
        self.ended: events.Ended | None = None
        self.output = ""
        self.readings: dict[GaugeName, float] = {}
        self.about = events.About("", ())
        """Empty until TensorFlow has been imported."""
        self._findings: tuple[Finding, ...] = ()
        self._healthy = ""
        self._recent = Recent()
        self._gpus: tuple[Gpu, ...] = ()
        self._no_gpu = ""
        self._shares = Shares()
        self.live_fixes = LiveFixes()
        self._traces = Traces()
        self._kept: dict[str, int] = {}
        """Tensors that each container of the program's has gained."""
        self._notes = Notes()
        self.phase = events.Phase(PHASE_STARTING, "", 0)
        self._hello = events.Hello(0, "", 0, "")
        self._waiting: list[events.Gauge] = []
        self._written: list[str] = []
        self._lost: dict[int, int] = {}
        self._started = 0
        self._recomputed_at = 0
        self._is_accounted = True
        self._account = AccountView()
        self._changed = False
        """Whether a fix was ever switched on; the findings of a scenario are from before that."""

    # Events in

    def feed(self, batch: Iterable[events.Event | Reading]) -> None:
        take = self._take  # looking it up takes longer than handling most events
        for event in batch:
            take(event)
        self._traces.settle()
        if self._written:  # once per batch: a program may print a million lines a second
            written = "".join([self.output, *self._written])
            self.output, self._written = written[-MAX_OUTPUT:], []
        if not self._is_accounted:  # after the last samples
            self._is_accounted = True
            self.account.finish(self.since, self.step.iterations)
        gauges, self._waiting = self._waiting, []
        if gauges:  # last, when it is known which iterations ran at the time
            self.gauges.add(gauges, self.step.times(), self.step.iterations, self.step.since)
        self._note_limits()

    def _note_limits(self) -> None:
        """Note once what is no longer shown one by one."""
        if self.streams.others is not None:
            self._notes.once(f"More than {MOST_STREAMS} streams: the least active are shown as one.")
        if self.gauges.full:
            self._notes.once(f"More than {MOST_GAUGES} gauges: the later ones are not shown.")
        if self.retraces.full:
            self._notes.once(
                f"More than {MOST_FUNCTIONS:,} traced functions: the later ones are shown as one."
            )
        if len(self.ledger.entries) >= _MOST_TALLIES:
            self._notes.once(f"More than {_MOST_TALLIES:,} counted lines: the later ones are not shown.")

    def sense(self, gauges: Iterable[events.Gauge]) -> None:
        """Take the sensors' readings: dozens of values, of which a few have a curve."""
        gauges = list(gauges)
        for gauge in gauges:
            self.readings[gauge.name] = gauge.value
        self._recent.add(gauges, self.readings)
        if (
            self.step.iterations
            and gauges
            and self.machine_episodes.add(gauges[-1].at, self.readings, self._gpus)
        ):
            self._recomputed_at = 0  # report it at once
        # A process that has ended has no memory: that is not a reading.
        self._waiting += [g for g in gauges if drawn(g.name) and (g.value > 0 or g.name != GAUGE_RSS)]

    def know_gpus(self, gpus: tuple[Gpu, ...], reason: str) -> None:
        """Take which devices there are, or why there is none, in a sentence."""
        if reason:
            self._recent.drop_gpus(self.readings)
        self._gpus, self._no_gpu = gpus, reason

    @functools.singledispatchmethod
    def _take(self, event: object) -> None:
        raise TypeError(f"not an event: {event!r}")

    @_take.register
    def _(self, event: events.Samples) -> None:
        records = np.maximum(np.frombuffer(event.packed, "<i8"), 0).reshape(-1, SAMPLE.size // 8)
        if not len(records):
            return
        start = np.ascontiguousarray(records[:, 0])
        # No call takes no time: it was shorter than the clock's resolution. Rates and shares divide by it.
        wall = np.maximum(records[:, 1], 1)
        self.account.add(event.stream, start, wall)
        stats = self.streams.all.get(event.stream)
        if stats is None:
            self.streams.add_to_others(
                event.stream, len(wall), float(wall.sum(dtype=np.float64)) / 1e9, int(start.min())
            )
            return
        index = event.first + np.arange(len(records), dtype=np.float64)
        some = Stretch(index, start, wall / 1e9, records[:, 2] / 1e9)
        stats.add(some)
        self._shares.add(stats.kind, start, wall)
        if self.step.is_of(event.stream):
            self.step.add(event.first, some)

    @_take.register
    def _(self, event: events.Folded) -> None:
        self.account.add_folded(event)
        stats = self.streams.all.get(event.stream)
        if stats is None:
            seconds = max(event.wall_sum, event.count) / 1e9
            self.streams.add_to_others(event.stream, event.count, seconds, event.start)
            return
        sketch = np.maximum(np.array(event.sketch, np.float64), 1.0) / 1e9
        stats.add_folded(event, sketch)
        self._shares.add_folded(stats.kind, event)
        if self.step.is_of(event.stream):
            self.step.add_folded(event, sketch)

    @_take.register
    def _(self, event: events.Toggled) -> None:
        self.step.toggle(event)
        if event.iteration:
            self._change(event.at)

    @_take.register
    def _(self, event: events.FixOffered) -> None:
        self.live_fixes.offer(event)
        self._findings = self.live_fixes.link(self._findings)

    @_take.register
    def _(self, event: events.FixAnswered) -> None:
        self.live_fixes.answer(event, self._findings)

    @_take.register
    def _(self, event: events.Block) -> None:
        self.step.block(event)
        self._change(event.at)

    def _change(self, at: int) -> None:
        """Account for the program as it is from now on."""
        self._changed = True
        self.account.restart(at, self.step.iterations)

    @_take.register
    def _(self, event: events.Gauge) -> None:
        if not abs(event.value) < _LARGEST:
            event = replace(event, value=math.nan)
        if event.name.startswith(TF_GPU_PREFIX) and (
            event.name in self.readings or len(self.readings) < _MOST_READINGS
        ):
            self.readings[event.name] = event.value
            if event.name.endswith((".peak", ".limit")):  # they are not worth a curve
                return
        self._waiting.append(event)

    @_take.register
    def _(self, event: events.Trace) -> None:
        self._traces.add(event)
        self.retraces.add(event)
        self.account.add_trace(event)

    @_take.register
    def _(self, event: events.Stream) -> None:
        self.streams.announce(event)
        self.account.announce(event)
        # A scenario has one stream, its kernel. A script's step is chosen in the target, which announces it.
        if event.kind == STREAM_KERNEL or self.step.is_of(event.id):
            self.step.stream = event
            self.streams.step = event.id

    @_take.register
    def _(self, event: events.StepChosen) -> None:
        self.streams.step = event.stream
        stats = self.streams.own(event.stream)
        self.step.why, self.step.trains = event.why, event.trains
        if stats is not None and not self.step.is_of(event.stream):
            stats.blocks.keep_tail()
            self.step.become(stats.info, event.at, stats.calls, stats.blocks)

    @_take.register
    def _(self, event: events.Tally) -> None:
        known = event.key in self.ledger.entries
        if not known and len(self.ledger.entries) >= _MOST_TALLIES:
            return
        self.ledger.add(event, self.step.iterations)
        self.account.add_tally(event)
        if event.what == TALLY_KEPT_TENSOR:
            self._kept[event.symbol] = event.count

    @_take.register
    def _(self, event: events.Reported) -> None:
        self.account.add_reported(event, self.since, self.step.iterations)

    @_take.register
    def _(self, event: events.Phase) -> None:
        self.phase = event
        self._started = self._started or event.at

    @_take.register
    def _(self, event: events.About) -> None:
        self.about = event

    @_take.register
    def _(self, event: events.Hello) -> None:
        self._hello = event

    @_take.register
    def _(self, event: events.Failed) -> None:
        self.failure = event

    @_take.register
    def _(self, event: events.Lost) -> None:
        if event.stream in self._lost or len(self._lost) < _MOST_LOSERS:
            self._lost[event.stream] = event.samples

    @_take.register
    def _(self, event: events.Note) -> None:
        self._notes.add(event.text)

    @_take.register
    def _(self, event: events.Output) -> None:
        self._written.append(event.text)

    @_take.register
    def _(self, event: events.Ended) -> None:
        self.ended = event
        self._is_accounted = False

    @_take.register
    def _(self, reading: Sensed) -> None:
        self.sense(reading.gauges)

    @_take.register
    def _(self, known: KnownGpus) -> None:
        self.know_gpus(known.gpus, known.reason)

    # A view out

    def view(self, now: int, columns: int, column_seconds: float) -> View:
        """Return the curves of the last `columns * column_seconds` seconds, and the numbers as of `now`."""
        self.feed(())  # what the sensors have read since
        if now - self._recomputed_at >= _RECOMPUTE_EVERY or self.ended:
            self._recomputed_at = now
            self._recompute(now)
        width = int(column_seconds * _SECOND)
        end = (now // width + 1) * width
        window = (end - (columns - 1) * width, end, columns)
        rate = math.nan if self.ended else self.step.rate(now)
        panels = [self.step.panel(window), self._traces.panel(window, self._started)]
        panels += self.gauges.panels(window)
        panels += self._shares.panels(window, min(now, self.ended.at) if self.ended else now, rate)
        worked = self.worked(now)
        step = self.step.stream.id if self.step.stream else None
        return View(
            phase=self.phase.name,
            phase_detail=self.phase.detail,
            phase_since=self.phase.at,
            at=now,
            pid=self._hello.pid,
            python=self._hello.python,
            tensorflow=self.about.tensorflow,
            devices=self.about.devices,
            iterations=self.step.iterations,
            rate=rate,
            folded=self.step.folded,
            lost=sum(self._lost.values()),
            fixes=self.step.fixes,
            offers=self.live_fixes.all(),
            panels=tuple(panels),
            segments=self.step.segments(),
            comparison=self.step.comparison(),
            streams=self.streams.views(worked, self.retraces.counts(), step),
            retraced=self.retraces.sentences(self.streams.calls(), worked),
            findings=self._findings,
            account=self._account,
            healthy=self._healthy,
            step=step,
            step_why=self.step.why,
            traces=self._traces.count,
            trace_seconds=self._traces.seconds,
            last_traces=tuple(self._traces.newest),
            notes=self._notes.texts(),
            failure=self.failure,
            ended=self.ended,
            last_step_at=self.step.last_at,
            output=self.output,
            readings=dict(self.readings),
            histories=self._recent.histories(),
            gpus=self._gpus,
            no_gpu=self._no_gpu,
        )

    def elapsed(self, now: int) -> float:
        """Return how many seconds the target has run by a time."""
        end = min(now, self.ended.at) if self.ended else now
        return max(0.0, (end - self._started) / 1e9) if self._started else 0.0

    @property
    def since(self) -> int:
        """When the program first did anything that is watched; 0 before that.

        Pauses of the collector do not count: it runs while TensorFlow is imported, too.
        """
        starts = [at for at in (self.streams.first_at(),) if at]
        starts += [at for f in self.retraces.functions.values() for at, _ in f.newest_avoidable[:1]]
        return min(starts, default=0)

    def worked(self, now: int) -> float:
        """Return the seconds since then: every share of the time is a share of them."""
        end, since = now, self.since
        if self.ended:  # the shutdown of Python and TensorFlow is not the program's work
            end = self.account.reported if self.account.reported > since else self.ended.at
        return max(0.0, (end - since) / 1e9) if since else 0.0

    def _recompute(self, now: int) -> None:
        self.streams.recompute()
        if self._kept and self.ended is None:  # it is sent only when it has grown
            self.feed([events.Gauge(GAUGE_TENSORS_KEPT, now, float(sum(self._kept.values())))])
        self.step.recompute(now)
        self.gauges.recompute(last=self.ended is not None)
        self.step.remember(self.gauges.trend(GAUGE_RSS))
        self._shares.recompute(now)
        self._account = self.account.view()
        scenario = self.step.stream is not None and self.step.stream.kind == STREAM_KERNEL
        if not (self._changed if scenario else self.step.fixes):
            facts = gather(self, now)
            self._findings = self.live_fixes.link(diagnose(facts))
            self._healthy = healthy(facts)
