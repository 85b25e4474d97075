"""The iterations of the step: their curve, and their trend between one toggle and the next."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..agent.protocol import events
from ..state.ab_test import ABTest
from ..state.verdict import pauses
from ..stats.blocks import Blocks, Floats, Ints, Stretch
from ..stats.effect import before_after
from ..stats.series import RAW, Series
from ..stats.trend import Trend, describe, trend
from .curves import filled
from .view import Comparison, Mark, PanelView, Segment, Window

_SECOND = 1_000_000_000
#: The effect of a toggle is refined for this long and then fixed.
_EFFECT_FOR = 60 * _SECOND
_KEPT_MARKS = 64
#: Toggles and blocks that may wait for their iteration.
_MOST_COMING = 1024


@dataclass(slots=True)
class _Segment:
    """The iterations between two toggles."""

    mark: Mark
    blocks: Blocks = field(default_factory=Blocks)
    before: Blocks | None = None
    trend: Trend | None = None
    memory: Trend | None = None
    pause_share: float = 0.0
    gained: float = 0.0


class Step:
    def __init__(self, on_toggle: Callable[[], None]) -> None:
        self.stream: events.Stream | None = None
        """The stream that is the step."""
        self.why = ""
        self.trains = False
        self.latency = Series()
        self.iterations = self.folded = 0
        self._on_toggle = on_toggle
        self._segments: deque[_Segment] = deque([_Segment(Mark(0, 0, (), ()))], maxlen=_KEPT_MARKS)
        self._coming: deque[Mark | events.Block] = deque(maxlen=_MOST_COMING)
        self._ab_test: ABTest | None = None
        self._refined = 0

    def is_of(self, stream: int) -> bool:
        return self.stream is not None and self.stream.id == stream

    @property
    def since(self) -> int:
        """The time of the last toggle."""
        return self._segments[-1].mark.at

    @property
    def fixes(self) -> tuple[str, ...]:
        return self._segments[-1].mark.fixes

    @property
    def last_at(self) -> int:
        """When the newest iteration began; 0 before the first."""
        newest = self.latency.recent_times(1)
        return int(newest[0]) if len(newest) else 0

    # Events in

    def add(self, first: int, some: Stretch) -> None:
        """Add iterations, cut at the toggles that were announced for one of them."""
        end, begin = first + len(some), 0
        self.iterations = max(self.iterations, end)
        while self._coming and self._coming[0].iteration < end:
            cut = max(self._coming[0].iteration - first, begin)
            self._put(some.pick(slice(begin, cut)))
            self._switch(self._coming.popleft())
            begin = cut
        self._put(some.pick(slice(begin, None)))

    def add_folded(self, event: events.Folded, sketch: Floats) -> None:
        while self._coming and self._coming[0].iteration <= event.first:
            self._switch(self._coming.popleft())
        span = (event.start, event.end)
        totals = (event.wall_min / 1e9, event.wall_max / 1e9, event.wall_sum / 1e9)
        self.latency.add_folded(*span, event.count, *totals, list(sketch))
        if self._ab_test is None or not self._ab_test.running:
            self._segments[-1].blocks.add_folded(event.first, event.count, *span, event.cpu_sum / 1e9, sketch)
        self.iterations = max(self.iterations, event.first + event.count)
        self.folded += event.count

    def toggle(self, event: events.Toggled) -> None:
        """Announce a toggle: its iteration says when it takes effect."""
        marks = (what for what in reversed(self._coming) if isinstance(what, Mark))
        last = next(marks, self._segments[-1].mark)
        changed = tuple(sorted(set(event.fixes) ^ set(last.fixes)))
        if event.iteration or changed:
            self._coming.append(Mark(event.at, event.iteration, event.fixes, changed))

    def block(self, event: events.Block) -> None:
        self._coming.append(event)

    def become(self, stream: events.Stream, at: int, calls: int, kept: Blocks) -> None:
        """Make another stream the step, and rebuild the curve from what is kept of it."""
        self.stream = stream
        self.latency = Series()
        past = kept.stretch()
        self.latency.add(past.start, past.wall)
        self.iterations = calls
        self._segments.append(_Segment(Mark(at, calls, self.fixes, ())))
        self._segments[-1].blocks.add(past)

    def _put(self, some: Stretch) -> None:
        self.latency.add(some.start, some.wall)
        if self._ab_test is not None and self._ab_test.running:
            self._ab_test.add(some.wall, some.cpu)
        else:
            self._segments[-1].blocks.add(some)

    def _switch(self, what: Mark | events.Block) -> None:
        """Start a new segment or block: later samples belong to it."""
        if isinstance(what, Mark):
            # A toggle is compared with what was before; a new state (nothing changed) starts afresh.
            before = self._segments[-1].blocks if what.changed else None
            self._segments.append(_Segment(what, before=before))
            self._on_toggle()
            self.latency.mark()
        elif what.arm < 0:
            if self._ab_test is not None:
                self._ab_test.running = False
        else:
            if self._ab_test is None or not self._ab_test.running:
                self._ab_test = ABTest(what.iteration)
            self._ab_test.begin_block(what.arm, what.fixes)

    # Results

    def recompute(self, now: int) -> None:
        segment = self._segments[-1]
        segment.trend = trend(segment.blocks)
        whole = segment.blocks.stretch()
        # A pause caused by another process costs wall time but no CPU time: only what costs both counts.
        segment.pause_share = pauses(np.fmin(whole.wall, whole.cpu))
        # The bootstrap is the most expensive part: the older the toggle, the less there is to refine.
        age = now - segment.mark.at
        if segment.before is not None and age < _EFFECT_FOR and now - self._refined > age // 8:
            self._refined = now
            effect = before_after(segment.before, segment.blocks)
            unfixed = self._unfixed()
            total = before_after(unfixed, segment.blocks) if unfixed is not None else None
            if effect is not None:
                segment.mark = replace(segment.mark, effect=effect, total=total)
        if self._ab_test is not None and self._ab_test.running:
            self._ab_test.recompute()

    def _unfixed(self) -> Blocks | None:
        """Return the last iterations without any fix, unless they were right before the newest toggle."""
        newest = self._segments[-1].mark
        if not newest.fixes or set(newest.fixes) == set(newest.changed):
            return None
        for segment in reversed(self._segments):
            if not segment.mark.fixes:
                return segment.blocks
            if not segment.mark.changed:  # a new state, which cannot be compared with an earlier one
                return None
        return None

    def remember(self, memory: Trend | None) -> None:
        """Record the trend of memory since the last toggle."""
        segment = self._segments[-1]
        segment.memory, segment.gained = memory, 0.0
        if memory is not None and memory.level > 0:
            segment.gained = memory.slope * (self.iterations - segment.mark.iteration) / memory.level

    def segments(self) -> tuple[Segment, ...]:
        return tuple(Segment(s.mark, s.trend, s.memory, s.pause_share, s.gained) for s in self._segments)

    def comparison(self) -> Comparison | None:
        return self._ab_test.result() if self._ab_test else None

    def times(self) -> Ints:
        """Return when the newest iterations began, in order."""
        return np.sort(self.latency.recent_times(RAW), kind="stable")

    def rate(self, now: int) -> float:
        """Return iterations per second over the last seconds."""
        times = self.latency.recent_times(2048)
        times = times[times > now - 3 * _SECOND]
        span = int(np.ptp(times)) if len(times) else 0
        return (len(times) - 1) * _SECOND / span if span else math.nan

    def panel(self, window: Window) -> PanelView:
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
