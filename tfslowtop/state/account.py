"""The account of time: every second of the main thread belongs to one activity at one line.

Calls that a hook times (tf.functions, Session.run, the next element of a dataset, pauses of the collector)
arrive as samples with start and length, so their time is known exactly and costs the program nothing more.
What is left of a second is divided by the samples that the agent took of the main thread in that second. Time
without a sample waits for the next one. So the cells add up to the whole time by construction.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..agent.protocol import events
from ..agent.protocol.names import (
    ACTIVITIES,
    ACTIVITY_DATA,
    ACTIVITY_GC,
    ACTIVITY_GRAPH,
    ACTIVITY_PYTHON_OP,
    ACTIVITY_TRACE,
    ACTIVITY_UNKNOWN,
    STREAM_DATA_WAIT,
    STREAM_FUNCTION,
    STREAM_GC,
    STREAM_LIBRARY_FUNCTION,
    STREAM_LIBRARY_PYTHON_OP,
    STREAM_PYTHON_OP,
    STREAM_SESSION_RUN,
    TALLY_GC_PAUSE,
    TALLY_WHERE,
    Activity,
    StreamKind,
)
from ..stats.intervals import Cover, Times, outermost
from .activities import activity_of

#: Cells and streams that are told apart; the rest of the time has no line.
_MOST_CELLS, _MOST_STREAMS = 2_000, 10_000
#: Calls that wait to be settled, 16 bytes each. They do so for a second, unless the agent stops reporting.
_MOST_WAITING = 100_000
#: Points of a cell's history; when there are more, every second one is dropped.
_POINTS = 64
#: Rows of a view: more than anybody scrolls through.
_MOST_ROWS = 200
#: Steps that a comparison of their first and second half needs, and points, which come once a second: with
#: fewer, it would compare a few steps at the start with all the others.
_STEPS_FOR_GROWTH, _POINTS_FOR_GROWTH = 20, 8

_FUNCTIONS = (STREAM_FUNCTION, STREAM_LIBRARY_FUNCTION)
#: Calls that take the main thread's time ...
_OUTER = (*_FUNCTIONS, STREAM_SESSION_RUN)
#: ... and what may take time inside them.
_PYTHON_OPS = (STREAM_PYTHON_OP, STREAM_LIBRARY_PYTHON_OP)
_TIMED = (*_OUTER, STREAM_DATA_WAIT, STREAM_GC, *_PYTHON_OPS)

Line = tuple[str, int]
NOWHERE: Line = ("", 0)


class Cell(NamedTuple):
    activity: Activity
    file: str
    line: int


#: Seconds and calls.
_Spent = defaultdict[Cell, list[float]]


@dataclass(slots=True)
class _CellTime:
    seconds: float = 0.0
    calls: float = 0.0
    history: list[tuple[int, float]] = field(default_factory=list)
    """The number of steps, and the seconds until then."""

    def add(self, seconds: float, calls: float, steps: int) -> None:
        self.seconds += seconds
        self.calls += calls
        self.history.append((steps, self.seconds))
        if len(self.history) > _POINTS:
            del self.history[1:-1:2]

    def growth(self, steps: int) -> float:
        """Return the seconds per step that it takes more in the second half of the steps."""
        if steps < _STEPS_FOR_GROWTH or len(self.history) < _POINTS_FOR_GROWTH:
            return math.nan
        middle = self._until(steps / 2)
        return ((self.seconds - middle) - (middle - self._until(0))) / (steps / 2)

    def _until(self, steps: float) -> float:
        numbers, seconds = zip((0, 0.0), *self.history, strict=True)
        return float(np.interp(steps, numbers, seconds))


@dataclass(frozen=True, slots=True)
class AccountRow:
    """The time of one activity at one line."""

    activity: Activity
    file: str
    line: int
    seconds: float
    share: float
    calls: int
    """0 where calls are not counted."""
    growth: float
    """Seconds per step more in the second half of the steps than in the first; NaN where that is unknown."""


@dataclass(frozen=True, slots=True)
class AccountView:
    """Where the time of the main thread went since the program first did anything that is watched."""

    seconds: float = 0.0
    steps: int = 0
    shares: tuple[tuple[Activity, float], ...] = ()
    """The share of each activity, in a fixed order; they add up to 1."""
    rows: tuple[AccountRow, ...] = ()
    """Most expensive first."""
    before: float = 0.0
    """Seconds before that: imports, loading data, building models."""

    @property
    def heaviest(self) -> AccountRow | None:
        """The row with the most time that has a line."""
        return next((row for row in self.rows if row.file), None)

    def per_step(self, seconds: float) -> float:
        return seconds / self.steps if self.steps else math.nan


class _Calls(NamedTuple):
    """Some calls of one stream."""

    stream: int
    start: Times
    end: Times


class _Timeline:
    """Calls within a window, cut so that they do not overlap: of nested calls the outermost has the time."""

    def __init__(self, calls: list[_Calls], begin: int, until: int) -> None:
        streams = [np.full(len(some.start), some.stream) for some in calls]
        stream, start, end = (
            _joined(parts) for parts in (streams, [c.start for c in calls], [c.end for c in calls])
        )
        order = np.lexsort((-end, start))
        self.stream, self.whole_start, self.whole_end = stream[order], start[order], end[order]
        self.start, self.end = outermost(
            np.clip(self.whole_start, begin, until), np.clip(self.whole_end, begin, until)
        )

    @property
    def cover(self) -> Cover:
        return Cover(self.start, self.end)

    def by_stream(self, wall: Times) -> Iterator[tuple[int, float, int]]:
        """Sum up the nanoseconds of each call by stream: its id, seconds, and number of calls."""
        for stream in np.unique(self.stream[wall > 0]):
            own = wall[(self.stream == stream) & (wall > 0)]
            yield int(stream), float(own.sum()) / 1e9, len(own)


def _joined(parts: list[Times]) -> Times:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


class _Samples:
    """What samples of the main thread saw, in nanoseconds."""

    def __init__(self) -> None:
        self.free: Counter[Cell] = Counter()
        """Outside timed calls."""
        self.lines: defaultdict[StreamKind, Counter[Line]] = defaultdict(Counter)
        """Inside timed calls, by their kind: the lines that make such calls."""

    def add(self, other: _Samples) -> None:
        self.free.update(other.free)
        for kind, lines in other.lines.items():
            self.lines[kind].update(lines)


class Account:
    def __init__(self) -> None:
        self._streams: dict[int, events.Stream] = {}
        self._calls: list[_Calls] = []
        self._waiting = 0
        """How many there are in `_calls`."""
        self._traces: list[events.Trace] = []
        self._seen: dict[tuple[str | int, ...], int] = {}
        """The wall time of each tally when it was last taken."""
        self._new = _Samples()
        """Samples since the last report: they belong to time that is reported with the next one."""
        self._current = _Samples()
        self._all = _Samples()
        self.reported = 0
        """All that the main thread did until then has been reported."""
        self._steps = 0
        """The number of steps at the last report."""
        self._settled = self._since = 0
        self._unsampled = 0.0
        """Seconds outside timed calls that wait for a sample."""
        self._cells: dict[Cell, _CellTime] = {}
        self._before = 0.0

    # Events in

    def announce(self, stream: events.Stream) -> None:
        known = stream.id in self._streams
        if not known and stream.kind in _TIMED and len(self._streams) < _MOST_STREAMS:
            self._streams[stream.id] = stream

    def add(self, stream: int, start: Times, wall: Times) -> None:
        """Take calls of a stream."""
        if stream in self._streams and self._waiting < _MOST_WAITING:
            self._waiting += len(start)
            self._calls.append(_Calls(stream, start, start + wall))

    def add_folded(self, event: events.Folded) -> None:
        """Take calls of which only the sum is known, as one call of that length."""
        start = max(event.start, event.end - event.wall_sum)
        self.add(event.stream, np.array([start]), np.array([event.end - start]))

    def add_trace(self, event: events.Trace) -> None:
        if not event.nested and len(self._traces) < _MOST_WAITING:
            self._traces.append(event)

    def add_tally(self, tally: events.Tally) -> None:
        if tally.what not in (TALLY_WHERE, TALLY_GC_PAUSE):
            return
        wall = tally.wall - self._seen.get(tally.key, 0)
        self._seen[tally.key] = tally.wall
        kind = STREAM_GC if tally.what == TALLY_GC_PAUSE else StreamKind(tally.inside)
        if kind in _TIMED:
            self._new.lines[kind][tally.file, tally.line] += wall
        else:
            self._new.free[Cell(activity_of(tally), tally.file, tally.line)] += wall

    def add_reported(self, event: events.Reported, since: int, steps: int) -> None:
        """Settle the time of the report before: samples up to `event.until` follow only now.

        `since` is when the program first did anything that is watched, 0 before that.
        """
        self._settled = self._settled or event.until
        self._settle(self.reported, since, self._steps)
        self._steps = steps
        self._current.add(self._new)
        self._all.add(self._new)
        self._new = _Samples()
        self.reported = max(self.reported, event.until)

    def finish(self, since: int, steps: int) -> None:
        """Settle the rest at the end of the program; time without a sample becomes unknown."""
        self._settle(self.reported, since, steps)
        if self._unsampled:
            self._cell(Cell(ACTIVITY_UNKNOWN, *NOWHERE)).add(self._unsampled, 0, steps)
            self._unsampled = 0.0

    # A view out

    def view(self, steps: int) -> AccountView:
        total = sum(time.seconds for time in self._cells.values())
        if total <= 0:
            return AccountView(before=self._before)
        by_activity: defaultdict[Activity, float] = defaultdict(float)
        for cell, time in self._cells.items():
            by_activity[cell.activity] += time.seconds
        ranked = sorted(self._cells.items(), key=lambda item: -item[1].seconds)[:_MOST_ROWS]
        return AccountView(
            seconds=total,
            steps=steps,
            shares=tuple((a, by_activity[a] / total) for a in ACTIVITIES if by_activity[a] > 0),
            rows=tuple(
                AccountRow(*cell, time.seconds, time.seconds / total, round(time.calls), time.growth(steps))
                for cell, time in ranked
            ),
            before=self._before,
        )

    # Settling

    def _settle(self, until: int, since: int, steps: int) -> None:
        """Give the time until then to its cells."""
        if since > self._since:  # what came earlier was the start
            self._since = since
            self._before += self._unsampled + sum(time.seconds for time in self._cells.values())
            self._cells.clear()
            self._unsampled = 0.0
        if self._settled < self._since:
            reached = max(self._settled, min(self._since, until))
            self._before += (reached - self._settled) / 1e9
            self._settled = reached
        if until > self._settled:
            begin, self._settled = self._settled, until
            self._spend(begin, until, steps)

    def _spend(self, begin: int, until: int, steps: int) -> None:
        calls, traces = self._take(until)
        outer, data, gc, ops = (
            _Timeline([c for c in calls if self._kind(c.stream) in kinds], begin, until)
            for kinds in (_OUTER, (STREAM_DATA_WAIT,), (STREAM_GC,), _PYTHON_OPS)
        )
        spent: _Spent = defaultdict(lambda: [0.0, 0.0])
        inner, covered, taken = (
            Cover(_joined([t.start for t in parts]), _joined([t.end for t in parts]))
            for parts in ((gc, data), (gc, data, outer), (gc, data, ops))
        )
        waited = (data.end - data.start) - gc.cover.within(data.start, data.end)
        # Python ops run on threads of TensorFlow's, while a function on the main thread waits for them.
        called_back = covered.within(ops.start, ops.end) - inner.within(ops.start, ops.end)
        own = (outer.end - outer.start) - taken.within(outer.start, outer.end)
        self._spend_streams(spent, ACTIVITY_GC, gc.by_stream(gc.end - gc.start))
        self._spend_streams(spent, ACTIVITY_DATA, data.by_stream(waited))
        self._spend_streams(spent, ACTIVITY_PYTHON_OP, ops.by_stream(called_back))
        graph = own - self._spend_traces(spent, outer, own, traces)
        self._spend_streams(spent, ACTIVITY_GRAPH, outer.by_stream(graph))
        self._unsampled += (until - begin - covered.length) / 1e9
        self._spend_free(spent)
        self._current = _Samples()
        for cell, (seconds, count) in spent.items():
            self._cell(cell).add(seconds, count, steps)

    def _take(self, until: int) -> tuple[list[_Calls], list[events.Trace]]:
        """Take calls and traces that began before a time, and keep what happens later.

        A trace counts as a call too: `get_concrete_function` and datasets trace without calling a function.
        """
        taken, kept = [], []
        for calls in self._calls:
            early, late = calls.start < until, calls.end > until
            if early.any():
                taken.append(_Calls(calls.stream, calls.start[early], calls.end[early]))
            if late.any():
                kept.append(_Calls(calls.stream, np.maximum(calls.start[late], until), calls.end[late]))
        traces = sorted((t for t in self._traces if t.at < until), key=lambda t: t.at)
        taken += [_Calls(-1 - i, np.array([t.at]), np.array([t.at + t.wall])) for i, t in enumerate(traces)]
        self._waiting = sum(len(calls.start) for calls in kept)
        self._calls, self._traces = kept, [t for t in self._traces if t.at >= until]
        return taken, traces

    def _spend_traces(self, spent: _Spent, outer: _Timeline, own: Times, traces: list[events.Trace]) -> Times:
        """Give calls in which a function was traced to tracing as a whole; return their time."""
        at = np.array([trace.at for trace in traces], np.int64)
        first = np.searchsorted(at, outer.whole_start)
        spends = np.zeros_like(own)
        for index in np.flatnonzero((first < len(at)) & (own > 0)):
            if at[first[index]] < outer.whole_end[index]:
                trace = traces[first[index]]
                cell = spent[Cell(ACTIVITY_TRACE, trace.user_file, trace.user_line)]
                cell[0] += float(own[index]) / 1e9
                cell[1] += 1
                spends[index] = own[index]
        return spends

    def _spend_streams(
        self, spent: _Spent, activity: Activity, streams: Iterable[tuple[int, float, int]]
    ) -> None:
        """Give the time of streams to the lines that call them."""
        for stream, seconds, calls in streams:
            info = self._streams[stream]
            lines = self._lines_of(info)
            every = sum(lines.values())
            for line, weight in lines.items():
                cell = spent[Cell(activity, *line)]
                cell[0] += seconds * weight / every
                cell[1] += calls * weight / every

    def _lines_of(self, stream: events.Stream) -> Mapping[Line, int]:
        """Return the lines that call a stream, with their weights; its own line where that is not known."""
        kind = STREAM_FUNCTION if stream.kind == STREAM_LIBRARY_FUNCTION else stream.kind
        if kind in (STREAM_FUNCTION, STREAM_GC):
            for samples in (self._current, self._all):
                if samples.lines.get(kind):
                    return samples.lines[kind]
        return {(stream.file, stream.line): 1}

    def _kind(self, stream: int) -> StreamKind:
        return self._streams[stream].kind if stream >= 0 else STREAM_FUNCTION

    def _spend_free(self, spent: _Spent) -> None:
        """Divide the time outside timed calls by the samples that were taken there."""
        every = sum(self._current.free.values())
        if every:
            for cell, wall in self._current.free.items():
                spent[cell][0] += self._unsampled * wall / every
            self._unsampled = 0.0

    def _cell(self, cell: Cell) -> _CellTime:
        if cell not in self._cells and len(self._cells) >= _MOST_CELLS:
            cell = Cell(cell.activity, *NOWHERE)
        return self._cells.setdefault(cell, _CellTime())
