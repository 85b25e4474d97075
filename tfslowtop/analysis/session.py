"""Everything known about one run: events in, an immutable view out.

One thread owns it. What is kept is bounded: series and blocks are, and of lists only the newest entries stay.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..agent import events
from ..agent.events import SAMPLE
from .blocks import Blocks, Floats, Ints, Ring
from .curves import filled, held
from .diagnosis.diagnose import diagnose, healthy
from .diagnosis.facts import gather
from .diagnosis.finding import Finding
from .diagnosis.ledger import Ledger
from .diagnosis.make import ms
from .diagnosis.spells import Spells
from .duel import Duel
from .effect import before_after
from .recent import Recent
from .retraces import Retraces
from .series import RAW, Series
from .shares import KINDS, Share
from .streams import Streams, StreamView
from .trend import Trend, describe, describe_leak, slope, trend
from .verdict import pauses
from .view import Gpu, Mark, PanelView, Segment, View

#: How the name of a gauge in bytes ends; all others are counts.
_BYTES = ("rss", "memory")

_SECOND = 1_000_000_000
#: Trends and effects are recomputed this often; curves at every view.
_THINK_EVERY = _SECOND
#: The effect of a toggle is refined for this long and then stands.
_EFFECT_FOR = 60 * _SECOND
#: Growth of memory that is worth a word.
_MATTERS = float(4 << 20)
_KEPT_MARKS = 64
_GAUGE_POINTS = 4096
_MAX_OUTPUT = 200_000


def drawn(name: str) -> bool:
    """Whether a sensor's gauge has a curve of its own."""
    return name == "rss" or (name.startswith("gpu.") and name.endswith(".memory"))


@dataclass(slots=True)
class _Segment:
    """The iterations between two toggles."""

    mark: Mark
    blocks: Blocks = field(default_factory=Blocks)
    before: Blocks | None = None
    trend: Trend | None = None
    memory: Trend | None = None
    pause_share: float = 0.0


@dataclass(slots=True)
class _Gauge:
    """A reading that has a curve. Those that have none keep only their last value, in `Session.readings`."""

    series: Series = field(default_factory=Series)
    points: Ring = field(default_factory=lambda: Ring(_GAUGE_POINTS, np.float64, np.float64))
    """Iteration and value, since the last toggle: what a leak is measured on."""
    trend: Trend | None = None
    first: float = math.nan


class Session:
    def __init__(self) -> None:
        self.latency = Series()
        self.streams = Streams()
        self.stream: events.Stream | None = None
        """The one whose curve is drawn: the step."""
        self.step_why = ""
        self.retraces = Retraces()
        self._findings: tuple[Finding, ...] = ()
        self._healthy = ""
        self.ledger = Ledger()
        self.spells = Spells()
        self.clock = 0
        """The time of day minus the time of the events, in ns: for telling when something was."""
        self.failure: events.Failed | None = None
        self.ended: events.Ended | None = None
        self.output = ""
        self._segments: deque[_Segment] = deque([_Segment(Mark(0, 0, (), ()))], maxlen=_KEPT_MARKS)
        self._coming: deque[Mark | events.Block] = deque()
        self._duel: Duel | None = None
        self.readings: dict[str, float] = {}
        self._recent = Recent()
        self._gpus: tuple[Gpu, ...] = ()
        self._no_gpu = ""
        self._gauges: dict[str, _Gauge] = {}
        self._shares: defaultdict[str, Share] = defaultdict(Share)
        self._kept: dict[str, int] = {}
        """Tensors that each container of the program's has gained."""
        self._traces = Series()
        self._trace_ns = self._trace_count = 0
        self._new: dict[Series, tuple[list[int], list[float]]] = {}
        self._last_traces: deque[events.Trace] = deque(maxlen=200)
        self._notes: deque[str] = deque(maxlen=50)
        self._phase = events.Phase("starting", "", 0)
        self.about = events.About("", ())
        """Empty until TensorFlow is there."""
        self._hello = events.Hello(0, "", 0, "")
        self._iterations = self._folded = 0
        self._sensed: list[events.Gauge] = []
        self._times: Ints = np.zeros(0, np.int64)
        """When the last iterations began."""
        self._lost: dict[int, int] = {}
        self._started = 0
        self._thought = self._refined = self._thoughts = 0

    # Events in

    def feed(self, batch: Iterable[events.Event]) -> None:
        gauges, self._sensed = self._sensed, []
        for event in batch:
            if isinstance(event, events.Gauge):
                gauges.append(event)
            else:
                self._take(event)
        self._times = self.latency.recent_times(RAW) if gauges else self._times
        for gauge in gauges:
            self._take(gauge)
        # One call per series and batch: a thousand traces cost little more than one.
        for series, (times, values) in self._new.items():
            series.add(np.array(times, np.int64), np.array(values, np.float64))
        self._new.clear()

    def sense(self, gauges: Iterable[events.Gauge]) -> None:
        """What the sensors read from outside: dozens of values, of which a few have a curve."""
        gauges = list(gauges)
        for gauge in gauges:
            self.readings[gauge.name] = gauge.value
        self._recent.add(gauges, self.readings)
        if self._iterations and gauges and self.spells.add(gauges[-1].at, self.readings, self._gpus):
            self._thought = 0  # it is to be told at once
        # A process that has gone has no memory: that is no reading of it.
        self._sensed += [g for g in gauges if drawn(g.name) and (g.value > 0 or g.name != "rss")]

    def know_gpus(self, gpus: tuple[Gpu, ...], reason: str) -> None:
        """Which devices there are, or in a sentence why there is none."""
        if reason:
            self._recent.drop_gpus(self.readings)
        self._gpus, self._no_gpu = gpus, reason

    def _later(self, series: Series, at: int, value: float) -> None:
        times, values = self._new.setdefault(series, ([], []))
        times.append(at)
        values.append(value)

    @functools.singledispatchmethod
    def _take(self, event: object) -> None:
        raise TypeError(f"not an event: {event!r}")

    @_take.register
    def _(self, event: events.Samples) -> None:
        stats = self.streams.all.get(event.stream)
        if stats is None:
            return
        records = np.frombuffer(event.packed, "<i8").reshape(-1, SAMPLE.size // 8)
        index = np.arange(event.first, event.first + len(records))
        start = np.ascontiguousarray(records[:, 0])
        wall, cpu = records[:, 1] / 1e9, records[:, 2] / 1e9
        stats.add(index, start, wall, cpu)
        if stats.kind in KINDS:
            self._shares[KINDS[stats.kind]].add(start, records[:, 1])
        if self.stream is None or event.stream != self.stream.id:
            return
        self._iterations = max(self._iterations, event.first + len(records))
        begin = 0
        while self._coming and self._coming[0].iteration < event.first + len(records):
            cut = max(self._coming[0].iteration - event.first, begin)
            self._put(index[begin:cut], start[begin:cut], wall[begin:cut], cpu[begin:cut])
            self._turn(self._coming.popleft())
            begin = cut
        self._put(index[begin:], start[begin:], wall[begin:], cpu[begin:])

    def _iteration_at(self, at: int) -> int:
        """Gauges and samples come in batches; the clock says which belong together."""
        later = len(self._times) - int(np.searchsorted(self._times, at))
        return max(0, self._iterations - later)

    def _put(self, index: Ints, start: Ints, wall: Floats, cpu: Floats) -> None:
        self.latency.add(start, wall)
        if self._duel is not None and self._duel.running:
            self._duel.add(wall, cpu)
        else:
            self._segments[-1].blocks.add(index.astype(np.float64), start, wall, cpu)

    def _turn(self, what: Mark | events.Block) -> None:
        """From here on the samples belong to something else."""
        if isinstance(what, Mark):
            # What follows a toggle is compared with what was; a new state (nothing changed) starts afresh.
            before = self._segments[-1].blocks if what.changed else None
            self._segments.append(_Segment(what, before=before))
            for gauge in self._gauges.values():
                gauge.points, gauge.trend = Ring(_GAUGE_POINTS, np.float64, np.float64), None
            self.latency.mark()
        elif what.arm < 0:
            if self._duel is not None:
                self._duel.running = False
        else:
            if self._duel is None or not self._duel.running:
                self._duel = Duel()
            self._duel.turn(what.arm, what.fixes)

    @_take.register
    def _(self, event: events.Folded) -> None:
        stats = self.streams.all.get(event.stream)
        if stats is None:
            return
        sketch = np.array(event.sketch) / 1e9
        stats.add_folded(event, sketch)
        if stats.kind in KINDS:
            self._shares[KINDS[stats.kind]].add_folded(event.start, event.end, event.wall_sum)
        if self.stream is None or event.stream != self.stream.id:
            return
        while self._coming and self._coming[0].iteration <= event.first:
            self._turn(self._coming.popleft())
        span = (event.start, event.end)
        totals = (event.wall_min / 1e9, event.wall_max / 1e9, event.wall_sum / 1e9)
        self.latency.add_folded(*span, event.count, *totals, list(sketch))
        if self._duel is None or not self._duel.running:
            self._segments[-1].blocks.add_folded(event.first, event.count, *span, event.cpu_sum / 1e9, sketch)
        self._iterations = max(self._iterations, event.first + event.count)
        self._folded += event.count

    @_take.register
    def _(self, event: events.Toggled) -> None:
        marks = [what for what in self._coming if isinstance(what, Mark)]
        last = marks[-1] if marks else self._segments[-1].mark
        changed = tuple(sorted(set(event.fixes) ^ set(last.fixes)))
        if event.iteration or changed:
            self._coming.append(Mark(event.at, event.iteration, event.fixes, changed))

    @_take.register
    def _(self, event: events.Block) -> None:
        self._coming.append(event)

    @_take.register
    def _(self, event: events.Gauge) -> None:
        if event.name.startswith("tf.gpu."):
            self.readings[event.name] = event.value
            if event.name.endswith((".peak", ".limit")):  # they have no shape of their own to draw
                return
        gauge = self._gauges.get(event.name)
        if gauge is None:  # not setdefault: a series takes a megabyte
            gauge = self._gauges[event.name] = _Gauge()
        self._later(gauge.series, event.at, event.value)
        if math.isnan(gauge.first):
            gauge.first = event.value
        if self._iterations and math.isfinite(event.value) and event.at >= self._segments[-1].mark.at:
            place = float(self._iteration_at(event.at))
            gauge.points.push(np.array([place]), np.array([event.value]))

    @_take.register
    def _(self, event: events.Trace) -> None:
        self._trace_ns += event.wall
        self._trace_count += 1
        self._last_traces.append(event)
        self.retraces.add(event)
        self._later(self._traces, event.at, float(self._trace_count))

    @_take.register
    def _(self, event: events.Stream) -> None:
        self.streams.announce(event)
        # A scenario has one stream, its kernel. A script's step is chosen in the target, which says so.
        if event.kind == "kernel" or (self.stream is not None and self.stream.id == event.id):
            self.stream = event

    @_take.register
    def _(self, event: events.Step) -> None:
        """Another stream is the step: the curve is made anew of what is kept of it."""
        stats = self.streams.all.get(event.stream)
        self.step_why = event.why
        if stats is None or (self.stream is not None and self.stream.id == event.stream):
            return
        self.stream = stats.info
        self.latency = Series()
        kept = stats.blocks.stretch()
        self.latency.add(kept.start, kept.wall)
        self._iterations = stats.calls
        self._segments.append(_Segment(Mark(event.at, stats.calls, self._segments[-1].mark.fixes, ())))
        self._segments[-1].blocks.add(kept.index, kept.start, kept.wall, kept.cpu)

    @_take.register
    def _(self, event: events.Tally) -> None:
        self.ledger.add(event, self._iterations)
        if event.what == "kept-tensor":
            self._kept[event.symbol] = event.count

    @_take.register
    def _(self, event: events.Phase) -> None:
        self._phase = event
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
        self._lost[event.stream] = event.samples

    @_take.register
    def _(self, event: events.Note) -> None:
        self._notes.append(event.text)

    @_take.register
    def _(self, event: events.Output) -> None:
        self.output = (self.output + event.text)[-_MAX_OUTPUT:]

    @_take.register
    def _(self, event: events.Ended) -> None:
        self.ended = event

    # A view out

    def view(self, now: int, columns: int, column_seconds: float) -> View:
        """The last `columns * column_seconds` seconds, and the numbers as of `now`."""
        self.feed(())  # what the sensors have read since
        if now - self._thought >= _THINK_EVERY or self.ended:
            self._thought = now
            self._think(now)
        width = int(column_seconds * _SECOND)
        end = (now // width + 1) * width
        window = (end - (columns - 1) * width, end, columns)
        panels = [self._latency_panel(window), self._trace_panel(window)]
        panels += [self._gauge_panel(name, gauge, window) for name, gauge in self._gauges.items()]
        panels += self._share_panels(window, now)
        last_traces = tuple(self._last_traces)
        return View(
            phase=self._phase.name,
            phase_detail=self._phase.detail,
            phase_since=self._phase.at,
            at=now,
            pid=self._hello.pid,
            python=self._hello.python,
            tensorflow=self.about.tensorflow,
            devices=self.about.devices,
            iterations=self._iterations,
            rate=self._rate(now),
            folded=self._folded,
            lost=sum(self._lost.values()),
            fixes=self._segments[-1].mark.fixes,
            panels=tuple(panels),
            segments=tuple(Segment(s.mark, s.trend, s.memory, s.pause_share) for s in self._segments),
            comparison=self._duel.result() if self._duel else None,
            streams=self._stream_views(now),
            retraced=self._retraced(now),
            findings=self._findings,
            healthy=self._healthy,
            step=self.stream.id if self.stream else None,
            step_why=self.step_why,
            traces=self._trace_count,
            trace_seconds=self._trace_ns / 1e9,
            last_traces=last_traces,
            notes=tuple(self._notes),
            failure=self.failure,
            ended=self.ended,
            output=self.output,
            readings=dict(self.readings),
            histories=self._recent.histories(),
            gpus=self._gpus,
            no_gpu=self._no_gpu,
        )

    def gauge_names(self) -> Iterable[str]:
        """Those that the target sent, and of the sensors' those that have a curve."""
        return self._gauges

    def gauge_summary(self, name: str) -> tuple[float, float, float, float | None]:
        """First, last and largest value, and the slope per step where one can be given."""
        gauge = self._gauges[name]
        rising = gauge.trend is not None and gauge.trend.direction in ("rising", "falling", "flat")
        slope = gauge.trend.slope if gauge.trend is not None and rising else None
        return gauge.first, gauge.series.last, gauge.series.maximum, slope

    def gauge_trend(self, name: str) -> Trend | None:
        return self._gauges[name].trend

    def elapsed(self, now: int) -> float:
        """Seconds that the target has run."""
        return (
            max(0.0, ((self.ended.at if self.ended else now) - self._started) / 1e9) if self._started else 0.0
        )

    def _stream_views(self, now: int) -> tuple[StreamView, ...]:
        step = self.stream.id if self.stream else None
        return self.streams.views(self.elapsed(now), self.retraces.counts(), step)

    def _retraced(self, now: int) -> tuple[str, ...]:
        calls = {(s.info.file, s.info.line): s.calls for s in self.streams.all.values()}
        return self.retraces.sentences(calls, self.elapsed(now))

    def _think(self, now: int) -> None:
        if not self._scenario:
            self.streams.think()
        if self._kept and self.ended is None:  # told of when it has grown; in between it stays
            self.feed([events.Gauge("tensors kept", now, float(sum(self._kept.values())))])
        segment = self._segments[-1]
        segment.trend = trend(segment.blocks)
        whole = segment.blocks.stretch()
        # A pause that a busy neighbour made costs wall time but no CPU time: only what costs both counts.
        segment.pause_share = pauses(np.fmin(whole.wall, whole.cpu))
        # The bootstrap is the dearest of all this: the longer ago the toggle, the less there is to refine.
        age = now - segment.mark.at
        if segment.before is not None and age < _EFFECT_FOR and now - self._refined > age // 8:
            self._refined = now
            effect = before_after(segment.before, segment.blocks)
            if effect is not None:
                segment.mark = replace(segment.mark, effect=effect)
        if self._duel is not None and self._duel.running:
            self._duel.think()
        self._thoughts += 1
        # Of a script there are a dozen, and a second later they say the same.
        for name, gauge in self._gauges.items():
            if self._thoughts % 2 or self.ended or gauge.trend is None:
                index, values = gauge.points.last(_GAUGE_POINTS)
                gauge.trend = slope(index, values, _MATTERS if name.endswith(_BYTES) else 1.0)
        if "rss" in self._gauges:
            segment.memory = self._gauges["rss"].trend
        for share in self._shares.values():
            share.think(now)
        self._diagnose(now)

    @property
    def _scenario(self) -> bool:
        """It has one stream, and is known to be slow, and why."""
        return self.stream is not None and self.stream.kind == "kernel"

    def _diagnose(self, now: int) -> None:
        if self._scenario:
            return
        facts = gather(self, now)
        self._findings = diagnose(facts)
        self._healthy = healthy(facts)

    def _rate(self, now: int) -> float:
        times = self.latency.recent_times(2048)
        times = times[times > now - 3 * _SECOND]
        if len(times) < 2 or self.ended:
            return math.nan
        return float((len(times) - 1) * _SECOND / max(1, times[-1] - times[0]))

    def _latency_panel(self, window: tuple[int, int, int]) -> PanelView:
        line = self._segments[-1].trend
        recent = self.latency.recent(16)
        spread = self.latency.spread()
        median, p95 = spread.quantiles((0.5, 0.95))
        return PanelView(
            name="latency",
            unit="s",
            curve=filled(self.latency.curve(*window), window[1]),
            now=float(np.median(recent)) if len(recent) else math.nan,
            median=median,
            p95=p95,
            trend=line,
            words=describe(line) if line else "",
            spread=spread,
        )

    def _trace_panel(self, window: tuple[int, int, int]) -> PanelView:
        return PanelView(
            name="retraces",
            unit="",
            curve=held(self._traces.curve(*window), self._trace_count, self._started),
            now=float(self._trace_count),
            median=math.nan,
            p95=math.nan,
            trend=None,
            words=self._trace_words(),
        )

    def _trace_words(self) -> str:
        if not self._trace_count:
            return "none"
        newest = self._last_traces[-1]
        return f"{newest.function}: {newest.number} traces"

    def _gauge_panel(self, name: str, gauge: _Gauge, window: tuple[int, int, int]) -> PanelView:
        unit = _unit(name)
        spread = gauge.series.spread()
        median, p95 = spread.quantiles((0.5, 0.95))
        say: Callable[[Trend], str] = describe_leak if unit == "B" else describe
        return PanelView(
            name=name,
            unit=unit,
            curve=filled(gauge.series.curve(*window), window[1]),
            now=gauge.series.last,
            median=median,
            p95=p95,
            trend=gauge.trend,
            words=say(gauge.trend) if gauge.trend else "",
            spread=spread,
        )

    def _share_panels(self, window: tuple[int, int, int], now: int) -> list[PanelView]:
        """In percent of the time, and what that is for each step."""
        at, rate = min(now, self.ended.at) if self.ended else now, self._rate(now)
        panels = []
        for name, share in self._shares.items():
            if share.spread is None:
                continue
            recent = share.recent(at)
            per_step = recent / 100 / rate
            words = f"{ms(per_step)} per step" if math.isfinite(per_step) else ""
            curve = filled(share.curve(*window, at), window[1])
            median, p95 = share.spread.quantiles((0.5, 0.95))
            panels.append(PanelView(name, "%", curve, recent, median, p95, None, words, share.spread))
        return panels


def _unit(name: str) -> str:
    return "B" if name.endswith(_BYTES) else ""
