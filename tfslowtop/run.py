"""Watching one source: source and sensors → session → view. The screen runs it in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from .agent.protocol.events import (
    Block,
    Ended,
    Event,
    Failed,
    Gauge,
    Output,
    Phase,
    Samples,
    StepChosen,
    Toggled,
    Trace,
)
from .clean import cleaned
from .lens import Lens as Lens
from .own_error import sentence
from .sensors.sampler import Sampler
from .sensors.visible import parse_cuda_variables, told_to
from .sources.source import Source
from .state.readings import Reading
from .state.session import Session
from .state.view import MAX_OUTPUT, Gpu, View

#: What is shown at once: somebody waits for it.
_AWAITED = (Toggled, Block, Phase, StepChosen, Failed, Ended)

#: Seconds between two looks at what has come. To be woken by each of twenty batches a second disturbs the
#: watched program: benchmarks/bench_screen.py has the p99 of a kernel of a millisecond.
LOOK = 0.25

#: A source whose events cannot be read is asked so many times more; then only its end is waited for.
RETRIES = 5

#: Seconds for which a target is listened to without a pause.
LISTEN = 0.1

#: Seconds after a command in which its answer is waited for.
ANSWER = 1.0


def joined(batch: Iterable[Event | Reading]) -> list[Event | Reading]:
    """The same with samples that follow each other in one piece: it costs as much as a hundred samples do."""
    result: list[Event | Reading] = []
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

    def __init__(
        self, source: Source, lens: Lens, on_view: Callable[[View], None], *, to_the_end: bool = False
    ) -> None:
        """With `to_the_end` an error of our own does not end the run: the source is somebody's script."""
        self.source = source
        session = Session()
        session.clock = time.time_ns() - time.perf_counter_ns()
        self.session = session
        """Belongs to the thread that pumps; others get views of it, or wait until `pump` has returned."""
        self.sampler: Sampler | None = None
        self.error: Exception | None = None
        """The first error of our own."""
        self.analysed = True
        """Whether the analysis is whole; after an error in it only output and end are shown."""
        self.ended: Ended | None = None
        self.started = 0.0
        """When the target's process was started (time.monotonic); 0 before that."""
        self._lens = lens
        self._on_view = on_view
        self._to_the_end = to_the_end
        self._view: View | None = None
        self._gauges: deque[Sequence[Gauge]] = deque(maxlen=1000)
        self._leaving = threading.Event()
        self._answer_by = 0.0
        self._failures = 0  # of the source, one after the other
        self._told = False

    def stop(self) -> None:
        """Asks the target to end; `pump` returns when it has."""
        self.source.stop()

    def leave(self) -> None:
        """Stops watching and lets the target be; a target that cannot live without us ends."""
        self._leaving.set()

    def pump(self) -> None:
        """Until the source ends. A source that cannot start (`SourceError`) is the caller's to show.

        An error of our own is raised or, with `to_the_end`, kept in `error` while the run goes on.
        """
        try:
            self.source.start()
            self.started = time.monotonic()
            try:
                self._watch_machine()
            except Exception as error:
                self._fail(error)
            self._follow()
        finally:
            if self.sampler is not None:
                self.sampler.stop(timeout=0.2)
            self.source.close()

    def _follow(self) -> None:
        due, waiting = 0.0, list[Event | Reading]()
        while self.ended is None and not self._leaving.is_set():
            new = self._new()
            self.ended = next((event for event in new if isinstance(event, Ended)), None)
            waiting += new
            now = time.monotonic()
            if now >= due or any(isinstance(event, _AWAITED) for event in new):
                due = now + self._lens.refresh
                self._take_in(waiting)
                waiting.clear()

    def _take_in(self, batch: Sequence[Event | Reading]) -> None:
        if self.sampler is not None and self.sampler.trouble is not None and self.error is None:
            self._fail(self.sampler.trouble)  # the rest of the analysis does without the machine
        if self.analysed:
            try:
                while self._gauges:
                    self.session.sense(self._gauges.popleft())
                self.session.feed(joined(batch))
                self.show()
                return
            except Exception as error:
                self.analysed = False
                self._fail(error)
        try:
            self._show_unanalysed(batch)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._to_the_end:
            raise error
        self.error = self.error or error

    def _new(self) -> list[Event | Reading]:
        """What has come, after a pause; the pause is short while somebody waits for an answer."""
        try:
            if time.monotonic() >= self._answer_by and self.source.rest(LOOK):
                self._answer_by = time.monotonic() + ANSWER
            new = list(self.source.events(0.05 if time.monotonic() < self._answer_by else 0.0))
            # A target that never stops talking is not heard out: what it goes on to say comes next time.
            enough = time.monotonic() + LISTEN
            while (more := self.source.events(0.0)) and time.monotonic() < enough:
                new += more
            new += more
        except Exception as error:
            self._fail(error)
            self._failures += 1
            if self._failures > RETRIES:
                return [self.source.wait()]
            time.sleep(0.05)
            return []
        self._failures = 0
        return cleaned(new)

    def show(self) -> None:
        lens = self._lens
        now = time.perf_counter_ns()
        reading = self.sampler.gpu if self.sampler else None
        if self.sampler is not None and self.session.about.tensorflow:
            # A program may have set these itself, which does not show from outside.
            self.sampler.shown(*parse_cuda_variables(self.session.about.shown))
        if reading is not None:
            known = (Gpu(d.label, d.name or "", d.cuda_number, d.visible) for d in reading.devices)
            self.session.know_gpus(tuple(known), reading.reason or "")
        view = self.session.view(now, lens.columns, lens.column_seconds)
        host = self.sampler.host if self.sampler else None
        if host is not None:
            view = replace(view, process_state=host.state, cores_busy=host.full)
        self._view = view
        self._on_view(self._view)

    def _show_unanalysed(self, batch: Sequence[Event | Reading]) -> None:
        """The last good view, with what needs no analysis: the output, and how it ended."""
        before = self._view or View.empty()
        output = before.output + "".join(event.text for event in batch if isinstance(event, Output))
        self._view = replace(
            before,
            at=time.perf_counter_ns(),
            output=output[-MAX_OUTPUT:],
            ended=self.ended,
            notes=(*before.notes, sentence(self.error)) if self.error and not self._told else before.notes,
        )
        self._told = True
        self._on_view(self._view)

    def _watch_machine(self) -> None:
        pid = self.source.pid
        if pid is not None:
            visible, order = told_to(pid)
            self.sampler = Sampler(pid, self._gauges.append, visible=visible, order=order)
            self.sampler.start()
