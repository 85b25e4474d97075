"""The streams of a target: everything that repeats, in little memory each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..agent import events
from .blocks import Blocks, Floats, Stretch
from .trend import Trend, describe, trend


@dataclass(frozen=True, slots=True)
class StreamView:
    """One line of the table: what it is, and what its calls cost."""

    id: int
    name: str
    kind: str
    file: str
    line: int
    calls: int
    seconds: float
    """In all calls together."""
    share: float
    """Of the time since the target started; calls inside calls count twice."""
    median: float
    p95: float
    trend: Trend | None
    words: str
    traces: int
    is_step: bool


@dataclass(slots=True)
class StreamStats:
    info: events.Stream
    kind: str = ""
    """What it was announced as: the step is announced again as `step`."""
    blocks: Blocks = field(default_factory=Blocks)
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
        self.first_at = self.first_at or int(some.start[0])
        self.last_at = int(some.start[-1] + 1e9 * some.wall[-1])
        self.blocks.add(some)

    def add_folded(self, event: events.Folded, sketch: Floats) -> None:
        self.calls = max(self.calls, event.first + event.count)
        self.seconds += event.wall_sum / 1e9
        self.first_at = self.first_at or event.start
        self.last_at = event.end
        self.blocks.add_folded(event.first, event.count, event.start, event.end, event.cpu_sum / 1e9, sketch)

    def think(self) -> None:
        """Brings the dear figures up to date: about 2 ms."""
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
        )


class Streams:
    """All of them. A few are thought about at a time, in turn, so that many cost no more than few."""

    def __init__(self) -> None:
        self.all: dict[int, StreamStats] = {}
        self._turn = 0

    def announce(self, stream: events.Stream) -> None:
        if stream.id in self.all:
            self.all[stream.id].info = stream
        else:
            self.all[stream.id] = StreamStats(stream, stream.kind)

    def think(self, most: int = 4) -> None:
        stats = list(self.all.values())
        for _ in range(min(most, len(stats))):
            self._turn = (self._turn + 1) % len(stats)
            stats[self._turn].think()

    def think_all(self) -> None:
        for stats in self.all.values():
            stats.think()

    def calls(self) -> dict[tuple[str, int], int]:
        """By file and line."""
        return {(s.info.file, s.info.line): s.calls for s in self.all.values()}

    def views(
        self, worked: float, traces: dict[tuple[str, int], int], step: int | None
    ) -> tuple[StreamView, ...]:
        """The one that costs most first."""
        rows = [
            s.view(worked, traces.get((s.info.file, s.info.line), 0), s.info.id == step)
            for s in self.all.values()
            if s.calls
        ]
        return tuple(sorted(rows, key=lambda row: -row.seconds))
