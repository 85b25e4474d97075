"""Watching one source: source and sensors → session → view. The screen runs it in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from .agent.events import Block, Ended, Event, Failed, Gauge, Output, Phase, Samples, Step, Toggled, Trace
from .analysis.session import Session
from .analysis.view import Gpu, View
from .lens import Lens as Lens
from .sensors.host import HostReading
from .sensors.sampler import Sampler
from .sensors.visible import told_by, told_to
from .sources.source import Source

#: What is shown at once: somebody waits for it.
_AWAITED = (Toggled, Block, Phase, Step, Failed, Ended)

#: Seconds between two looks at what has come. To be woken by each of twenty batches a second disturbs the
#: watched program: benchmarks/bench_screen.py has the p99 of a kernel of a millisecond.
LOOK = 0.25

#: Seconds after a command in which its answer is waited for.
ANSWER = 1.0


def joined(batch: Iterable[Event]) -> list[Event]:
    """The same with samples that follow each other in one piece: it costs as much as a hundred samples do."""
    result: list[Event] = []
    places: dict[int, int] = {}
    for event in batch:
        if isinstance(event, Samples):
            before = result[places[event.stream]] if event.stream in places else None
            if isinstance(before, Samples) and before.first + len(before) == event.first:
                whole = Samples(event.stream, before.first, before.packed + event.packed)
                result[places[event.stream]] = whole
                continue
            places[event.stream] = len(result)
        elif not isinstance(event, (Gauge, Trace, Output)):
            places.clear()  # what came after a toggle stays after it; those three carry a time, or need none
        result.append(event)
    return result


class Run:
    """One source being watched."""

    def __init__(self, source: Source, lens: Lens, on_view: Callable[[View], None]) -> None:
        self.source = source
        self.session = Session()
        self.session.clock = time.time_ns() - time.perf_counter_ns()
        self.sampler: Sampler | None = None
        self._lens = lens
        self._on_view = on_view
        self._gauges: deque[Sequence[Gauge]] = deque(maxlen=1000)
        self._leaving = threading.Event()
        self._answer_by = 0.0

    def stop(self) -> None:
        """Asks the target to end; `pump` returns when it has."""
        self.source.stop()

    def leave(self) -> None:
        """Stops watching and lets the target be; a target that cannot live without us ends."""
        self._leaving.set()

    @property
    def host(self) -> HostReading | None:
        """The last reading of the machine and the target's process."""
        return self.sampler.host if self.sampler else None

    @property
    def gpu_reason(self) -> str | None:
        """Why there is no GPU, in a sentence; None when there is one, or while nobody knows."""
        reading = self.sampler.gpu if self.sampler else None
        return reading.reason if reading else None

    def pump(self) -> None:
        """Until the source ends. A source that cannot start (`SourceError`) is the caller's to show."""
        try:
            self.source.start()
            self._watch_machine()
            due, waiting = 0.0, list[Event]()
            while self.session.ended is None and not self._leaving.is_set():
                new = self._new()
                waiting += new
                now = time.monotonic()
                if now >= due or any(isinstance(event, _AWAITED) for event in new):
                    due = now + self._lens.refresh
                    while self._gauges:
                        self.session.sense(self._gauges.popleft())
                    self.session.feed(joined(waiting))
                    waiting.clear()
                    self.show()
        finally:
            if self.sampler is not None:
                self.sampler.stop(timeout=0.2)
            self.source.close()

    def _new(self) -> list[Event]:
        """What has come, after a pause; the pause is short while somebody waits for an answer."""
        if time.monotonic() >= self._answer_by and self.source.rest(LOOK):
            self._answer_by = time.monotonic() + ANSWER
        new = list(self.source.events(0.05 if time.monotonic() < self._answer_by else 0.0))
        while more := self.source.events(0.0):
            new += more
        return new

    def show(self) -> None:
        lens = self._lens
        now = time.perf_counter_ns()
        reading = self.sampler.gpu if self.sampler else None
        if self.sampler is not None and self.session.about.tensorflow:
            # A program may have set these itself, which does not show from outside.
            self.sampler.shown(*told_by(self.session.about.shown))
        if reading is not None:
            known = (Gpu(d.label, d.name or "", d.cuda_number, d.visible) for d in reading.devices)
            self.session.know_gpus(tuple(known), reading.reason or "")
        self._on_view(self.session.view(now, lens.columns, lens.column_seconds))

    def _watch_machine(self) -> None:
        pid = self.source.pid
        if pid is not None:
            visible, order = told_to(pid)
            self.sampler = Sampler(pid, self._gauges.append, visible=visible, order=order)
            self.sampler.start()
