"""Watches one source: source and sensors → session → views. The app runs it in a thread of its own."""

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
    FixAnswered,
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

#: Events that are shown at once, because somebody is waiting for them.
_AWAITED = (Toggled, FixAnswered, Block, Phase, StepChosen, Failed, Ended)

#: Seconds between two polls of the source. Waking up for each of twenty batches a second would disturb the
#: watched program: benchmarks/bench_screen.py measures the p99 of a one-millisecond kernel.
POLL_INTERVAL = 0.25

#: Times that a source is tried again after its events could not be read; after that, only its end matters.
MAX_RETRIES = 5

#: Seconds of reading without a pause, so that a target that never stops sending does not starve the view.
MAX_READING = 0.1

#: Seconds after a command in which its answer is polled for quickly. Most answers take far less.
ANSWER_WINDOW = 1.0


def join_samples(batch: Iterable[Event | Reading]) -> list[Event | Reading]:
    """Merge batches of samples that follow each other: feeding a batch costs as much as a hundred samples."""
    result: list[Event | Reading] = []
    indices: dict[int, int] = {}
    for event in batch:
        if isinstance(event, Samples):
            before = result[indices[event.stream]] if event.stream in indices else None
            if isinstance(before, Samples) and before.first + len(before) == event.first:
                whole = Samples(event.stream, before.first, before.packed + event.packed)
                result[indices[event.stream]] = whole
                continue
            indices[event.stream] = len(result)
        elif not isinstance(event, (Gauge, Trace, Output)):
            # Samples stay after the toggle that they followed; those three carry a time, or need none.
            indices.clear()
        result.append(event)
    return result


class Run:
    """Watches one source until it ends."""

    def __init__(
        self, source: Source, lens: Lens, on_view: Callable[[View], None], *, to_the_end: bool = False
    ) -> None:
        """With `to_the_end`, an error of our own does not end the run: the source is a user's script."""
        self.source = source
        session = Session()
        session.clock = time.time_ns() - time.perf_counter_ns()
        self.session = session
        """Belongs to the thread that pumps. Others are given views, or wait until `pump` has returned."""
        self.sampler: Sampler | None = None
        self.error: Exception | None = None
        """The first error of our own."""
        self.analysed = True
        """Whether the analysis works; after an error in it, views only have the output and the end."""
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
        self._failures = 0  # of the source, in a row
        self._error_noted = False

    def stop(self) -> None:
        """Ask the target to end; `pump` returns once it has."""
        self.source.stop()

    def leave(self) -> None:
        """Stop watching and leave the target running, if it can run without us."""
        self._leaving.set()

    def pump(self) -> None:
        """Watch the source until it ends. Raises `SourceError` if it cannot start.

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
            new = self._read_events()
            self.ended = next((event for event in new if isinstance(event, Ended)), None)
            waiting += new
            now = time.monotonic()
            if now >= due or any(isinstance(event, _AWAITED) for event in new):
                due = now + self._lens.refresh
                self._take_in(waiting)
                waiting.clear()

    def _take_in(self, batch: Sequence[Event | Reading]) -> None:
        if self.sampler is not None and self.sampler.trouble is not None and self.error is None:
            self._fail(self.sampler.trouble)  # the rest of the analysis works without readings of the machine
        if self.analysed:
            try:
                while self._gauges:
                    self.session.sense(self._gauges.popleft())
                self.session.feed(join_samples(batch))
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

    def _read_events(self) -> list[Event | Reading]:
        """Return new events after a pause, which is short while somebody waits for an answer."""
        try:
            if time.monotonic() >= self._answer_by and self.source.rest(POLL_INTERVAL):
                self._answer_by = time.monotonic() + ANSWER_WINDOW
            new = list(self.source.events(0.05 if time.monotonic() < self._answer_by else 0.0))
            enough = time.monotonic() + MAX_READING
            while (more := self.source.events(0.0)) and time.monotonic() < enough:
                new += more
            new += more
        except Exception as error:
            self._fail(error)
            self._failures += 1
            if self._failures > MAX_RETRIES:
                return [self.source.wait()]
            time.sleep(0.05)
            return []
        self._failures = 0
        return cleaned(new)

    def show(self) -> None:
        """Pass on a view of what is known now."""
        lens = self._lens
        now = time.perf_counter_ns()
        reading = self.sampler.gpu if self.sampler else None
        if self.sampler is not None and self.session.about.tensorflow:
            # The program may have set these variables itself, which cannot be seen from outside.
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
        """Pass on the last good view, updated by what needs no analysis: the output and the end."""
        before = self._view or View.empty()
        output = before.output + "".join(event.text for event in batch if isinstance(event, Output))
        notes = before.notes
        if self.error is not None and not self._error_noted:
            notes = (*notes, sentence(self.error))
        self._view = replace(
            before,
            at=time.perf_counter_ns(),
            output=output[-MAX_OUTPUT:],
            ended=self.ended,
            notes=(*before.notes, sentence(self.error))
            if self.error and not self._error_noted
            else before.notes,
        )
        self._error_noted = True
        self._on_view(self._view)

    def _watch_machine(self) -> None:
        pid = self.source.pid
        if pid is not None:
            visible, order = told_to(pid)
            self.sampler = Sampler(pid, self._gauges.append, visible=visible, order=order)
            self.sampler.start()
