"""The streams of a target, each in little memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..agent.protocol import events
from ..agent.protocol.names import STREAM_GC, STREAM_OTHERS, StreamKind
from ..stats.blocks import Blocks, Floats, Stretch
from ..stats.trend import Trend, describe, trend

#: Streams with figures of their own, a quarter of a megabyte each at most. More than anybody reads.
MOST_STREAMS = 256
#: Folded streams whose name is remembered, so that they can come back.
MOST_RECORDS = 10_000
#: The id of all folded streams together; an agent counts from 0.
OTHERS = -1
#: A folded stream gets its own figures back when it takes this many times as long as the least active one
#: that has them: otherwise two similar streams would keep replacing each other.
_WORTH = 2.0


@dataclass(frozen=True, slots=True)
class StreamView:
    """One row of the table: what the stream is, and what its calls cost."""

    id: int
    name: str
    kind: StreamKind
    file: str
    line: int
    calls: int
    seconds: float
    """Of all calls together."""
    share: float
    """Of the time since the target started; calls inside calls count twice."""
    median: float
    p95: float
    trend: Trend | None
    words: str
    traces: int
    is_step: bool
    library: bool = False
    """Whether its code belongs to a library and not to the user."""


def _blocks() -> Blocks:
    return Blocks(tail=False)  # only the step's last seconds are examined in detail


@dataclass(slots=True)
class StreamStats:
    info: events.Stream
    kind: StreamKind
    """The kind it was first announced as: the step is announced again as STREAM_STEP."""
    blocks: Blocks = field(default_factory=_blocks)
    calls: int = 0
    seconds: float = 0.0
    first_at: int = 0
    last_at: int = 0
    median: float = math.nan
    p95: float = math.nan
    trend: Trend | None = None

    def add(self, some: Stretch) -> None:
        if not len(some):
            return
        self.calls = max(self.calls, int(some.index[-1]) + 1)
        self.seconds += float(some.wall.sum())
        self._reach(int(some.start.min()), some.end_ns)
        self.blocks.add(some)

    def add_folded(self, event: events.Folded, sketch: Floats) -> None:
        self.calls = max(self.calls, event.first + event.count)
        self.seconds += max(event.wall_sum, event.count) / 1e9
        self._reach(event.start, event.end)
        self.blocks.add_folded(event.first, event.count, event.start, event.end, event.cpu_sum / 1e9, sketch)

    def _reach(self, start: int, end: int) -> None:
        """Threads overlap: what is reported later may have begun earlier."""
        self.first_at = min(self.first_at or start, start)
        self.last_at = max(self.last_at, end)

    def recompute(self) -> None:
        """Update the expensive figures: takes about 2 ms."""
        wall = self.blocks.stretch().wall
        if len(wall):
            self.median, self.p95 = (float(q) for q in np.quantile(wall, (0.5, 0.95)))
        self.trend = trend(self.blocks)

    def view(self, worked: float, traces: int, is_step: bool) -> StreamView:
        return StreamView(
            id=self.info.id,
            name=self.info.name,
            kind=self.info.kind,
            file=self.info.file,
            line=self.info.line,
            calls=self.calls,
            seconds=self.seconds,
            share=min(1.0, self.seconds / worked) if worked > 0 else math.nan,
            median=self.median,
            p95=self.p95,
            trend=self.trend,
            words=describe(self.trend) if self.trend else "",
            traces=traces,
            is_step=is_step,
            library=self.info.library,
        )


@dataclass(slots=True)
class _Record:
    """What is kept of a stream that is counted with others."""

    info: events.Stream
    kind: StreamKind
    calls: int = 0
    seconds: float = 0.0
    first_at: int = 0


class Others:
    """The least active streams, counted as one: a program may create a tf.function per request."""

    def __init__(self) -> None:
        self.streams = 0
        self.calls = 0
        self.seconds = 0.0
        self.first_at = 0
        self._records: dict[int, _Record] = {}

    def fold(self, stats: StreamStats) -> None:
        self.streams += 1
        self._count(stats.calls, stats.seconds, stats.first_at)
        record = _Record(stats.info, stats.kind, stats.calls, stats.seconds, stats.first_at)
        self._records[stats.info.id] = record
        if len(self._records) > MOST_RECORDS:
            del self._records[next(iter(self._records))]

    def announce(self, stream: events.Stream) -> bool:
        """Take a new announcement of a folded stream; return whether it is one."""
        record = self._records.get(stream.id)
        if record is not None:
            record.info = stream
        return record is not None

    def add(self, number: int, calls: int, seconds: float, start: int) -> float:
        """Count some calls; return the seconds that their stream has taken in all, 0 if it is forgotten."""
        self._count(calls, seconds, start)
        record = self._records.get(number)
        if record is None:
            return 0.0
        record.calls += calls
        record.seconds += seconds
        record.first_at = min(record.first_at or start, start)
        return record.seconds

    def release(self, number: int) -> StreamStats | None:
        """Give a stream its own figures back; None if it is no longer known."""
        record = self._records.pop(number, None)
        if record is None:
            return None
        self.streams -= 1
        self.calls -= record.calls
        self.seconds = max(0.0, self.seconds - record.seconds)
        stats = StreamStats(record.info, record.kind)
        stats.calls, stats.seconds, stats.first_at = record.calls, record.seconds, record.first_at
        return stats

    def view(self, worked: float) -> StreamView:
        info = events.Stream(OTHERS, f"{self.streams:,} other streams", STREAM_OTHERS, "", 0)
        stats = StreamStats(info, info.kind, calls=self.calls, seconds=self.seconds)
        return stats.view(worked, 0, False)

    def _count(self, calls: int, seconds: float, start: int) -> None:
        self.calls += calls
        self.seconds += seconds
        if start:
            self.first_at = min(self.first_at or start, start)


class Streams:
    """All streams. A few at a time are updated, in rotation, so that many cost no more than few."""

    def __init__(self) -> None:
        self.all: dict[int, StreamStats] = {}
        """Those with figures of their own."""
        self.others: Others | None = None
        """The rest, once there are too many."""
        self.step = OTHERS
        """The id of the step, which always has figures of its own."""
        self._least = 0.0
        """Seconds of the least active stream of `all` when one was last folded."""
        self._next = 0

    def announce(self, stream: events.Stream) -> None:
        if stream.id in self.all:
            self.all[stream.id].info = stream
        elif self.others is None or not self.others.announce(stream):
            self._put(StreamStats(stream, stream.kind))

    def own(self, number: int) -> StreamStats | None:
        """Return the figures of one stream, which gets them back if it was folded."""
        if number not in self.all and self.others is not None:
            stats = self.others.release(number)
            if stats is not None:
                self._put(stats)
        return self.all.get(number)

    def add_to_others(self, number: int, calls: int, seconds: float, start: int) -> None:
        """Count calls of a folded stream; it gets figures of its own once it is active enough."""
        if self.others is None:
            return  # nobody has announced it
        if self.others.add(number, calls, seconds, start) > _WORTH * self._least:
            self.own(number)

    def _put(self, stats: StreamStats) -> None:
        if len(self.all) >= MOST_STREAMS:
            self._fold()
        self.all[stats.info.id] = stats

    def _fold(self) -> None:
        """Make room for several more, because ranking all streams for each one would be slow."""
        self.others = self.others or Others()
        ranked = sorted(
            (s for s in self.all.values() if s.info.id != self.step and s.kind != STREAM_GC),
            key=lambda s: s.seconds,
        )
        for stats in ranked[: MOST_STREAMS // 4]:
            self.others.fold(self.all.pop(stats.info.id))
        self._least = ranked[min(MOST_STREAMS // 4, len(ranked) - 1)].seconds

    def recompute(self, most: int = 4) -> None:
        stats = list(self.all.values())
        for _ in range(min(most, len(stats))):
            self._next = (self._next + 1) % len(stats)
            stats[self._next].recompute()

    def recompute_all(self) -> None:
        for stats in self.all.values():
            stats.recompute()

    def first_at(self) -> int:
        """Return when the first call of any stream began, the collector's left out; 0 before that."""
        starts = [s.first_at for s in self.all.values() if s.first_at and s.kind != STREAM_GC]
        if self.others is not None and self.others.first_at:
            starts.append(self.others.first_at)
        return min(starts, default=0)

    def calls(self) -> dict[tuple[str, int], int]:
        """Return the number of calls by file and line."""
        return {(s.info.file, s.info.line): s.calls for s in self.all.values()}

    def views(
        self, worked: float, traces: dict[tuple[str, int], int], step: int | None
    ) -> tuple[StreamView, ...]:
        """Return the rows, most expensive first."""
        rows = [
            s.view(worked, traces.get((s.info.file, s.info.line), 0), s.info.id == step)
            for s in self.all.values()
            if s.calls
        ]
        if self.others is not None and self.others.calls:
            rows.append(self.others.view(worked))
        return tuple(sorted(rows, key=lambda row: -row.seconds))
