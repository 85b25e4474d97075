"""The agent: queues of samples on one side, a channel on the other, and one thread between them.

The watched program only ever touches a queue or appends to a deque. Several times a second the sender thread
sends what is there, in packed batches and with one system call. When the watcher is slow or gone, samples are
folded and counted; the program notices nothing. The agent's own errors are caught, counted and sent as notes.
"""

from __future__ import annotations

import _thread
import itertools
import operator
import signal
import threading
from array import array
from collections import deque
from collections.abc import Callable
from time import (
    thread_time_ns as _thread_time_ns,
)  # imported now, because the program may replace it in `time`

from .protocol.channel import Channel
from .protocol.events import SAMPLE, Command, Event, Folded, Lost, Note, Samples, Stream
from .protocol.names import StreamKind
from .protocol.wire import MAX_SAMPLES
from .safety.prompt_wake import PromptWake
from .safety.signal_handlers import let_through
from .sample_buffer import SampleBuffer
from .sample_ring import SampleRing

#: Seconds between two batches.
PERIOD = 0.05

#: Rare events that may wait for a slow watcher: some megabytes.
_PENDING = 16_384
#: Ranks that a folded batch keeps: every 3 % of the distribution.
_SKETCH = 33
#: Values that are kept while a batch is being folded: quantiles need no more.
_WHILE_FOLDING = 1024
#: Errors of our own that are reported one by one; all are counted.
_MAX_ERRORS = 20


class _Fold:
    """Iterations of one stream that become one `Folded`."""

    def __init__(self) -> None:
        self.first = self.start = self.end = self.wall_sum = self.cpu_sum = self.count = 0
        self.walls = array("q")

    def add(self, first: int, packed: bytes) -> None:
        records = array("q", packed)
        starts, walls, cpus = records[0::3], records[1::3], records[2::3]
        # Records come in the order of their ends, so in threads the first need not be the earliest.
        earliest, latest = min(starts), max(map(operator.add, starts, walls))
        if not self.count:
            self.first, self.start, self.end = first, earliest, latest
        self.start, self.end = min(self.start, earliest), max(self.end, latest)
        self.count += len(walls)
        self.wall_sum += sum(walls)
        self.cpu_sum += sum(cpus)
        # Thinned by rank, not by age, so that minimum and maximum always survive.
        self.walls = _thin(sorted(self.walls + walls), _WHILE_FOLDING)

    def event(self, stream: int) -> Folded:
        return Folded(
            stream,
            self.first,
            self.count,
            self.start,
            self.end,
            self.walls[0],
            self.walls[-1],
            self.wall_sum,
            self.cpu_sum,
            tuple(_thin(self.walls.tolist(), _SKETCH)),
        )


def _thin(ranked: list[int], most: int) -> array[int]:
    """Pick at most `most` values at evenly spaced ranks, both ends included."""
    if len(ranked) <= most:
        return array("q", ranked)
    last = len(ranked) - 1
    return array("q", [ranked[round(i * last / (most - 1))] for i in range(most)])


def start_thread(run: Callable[[], None]) -> int:
    """Start a thread that the program neither finds nor waits for."""
    # Signals are for the program's own threads, also when they have blocked one to wait for it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    # Not a threading.Thread: a script that joins all threads it can enumerate must not wait for this one.
    number = _thread.start_new_thread(_quietly, (run,))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return number


def _quietly(run: Callable[[], None]) -> None:
    """End the thread at an error of our own, without printing into the program's output."""
    try:
        run()
    except BaseException:
        pass


class Agent:
    def __init__(
        self,
        channel: Channel,
        on_command: Callable[[Command], None] | None = None,
        *,
        on_tick: Callable[[], None] | None = None,
        on_gone: Callable[[], None] | None = None,
        period: float = PERIOD,
        ticks: int = 1,
        may_wake_promptly: Callable[[], bool] | None = None,
    ) -> None:
        """Call `on_tick` every `period` seconds, `ticks` times per batch, and `on_gone` once the watcher has
        hung up. `may_wake_promptly` says whether the thread may shorten the switch interval in its sleep."""
        self.channel = channel
        self.errors = 0
        self._on_command = on_command or (lambda command: None)
        self._on_tick, self._on_gone = on_tick, on_gone
        self._period, self._ticks = period, ticks
        self._may_wake_promptly = may_wake_promptly
        self._prompt_wake = PromptWake()
        self._numbers = itertools.count()
        self._queues: dict[int, SampleRing | SampleBuffer] = {}
        self._folds: dict[int, _Fold] = {}
        self._lost: dict[int, int] = {}
        self._pending: deque[Event] = deque(maxlen=_PENDING)
        self._dropped = 0
        self._closing = False
        self._wake = _thread.allocate_lock()  # held, so that the sender can sleep on it
        self._wake.acquire()
        self._lock = threading.Lock()  # between the sender's tick and those of flush() and close()
        self._sending = threading.Lock()  # held while the sender thread runs
        self._sender = 0
        self._cpu = 0

    def start(self) -> None:
        self._closing = False
        self._sending.acquire()
        self._sender = start_thread(self._run)

    def stream(self, name: str, kind: StreamKind, file: str, line: int) -> SampleRing:
        """Announce a stream; its samples go to the returned ring, from one thread."""
        queue = SampleRing()
        self.adopt(queue, name, kind, file, line)
        return queue

    def adopt(
        self,
        queue: SampleRing | SampleBuffer,
        name: str,
        kind: StreamKind,
        file: str,
        line: int,
        library: bool = False,
    ) -> int:
        """Announce a stream whose samples are in `queue`, and return its number."""
        number = next(self._numbers)
        self.emit(Stream(number, name, kind, file, line, library))
        self._queues[number] = queue
        return number

    def emit(self, event: Event) -> None:
        """Queue a rare event, from any thread: never blocks, never raises."""
        if len(self._pending) == _PENDING:
            self._dropped += 1  # the oldest one is pushed out
        self._pending.append(event)

    def flush(self) -> None:
        """Send what is there now, without waiting for the sender thread, which may not run for seconds."""
        self._guard(self._tick)

    def close(self) -> None:
        """Send the rest and hang up."""
        self.rest()
        self.flush()
        self._guard(self.channel.close)

    def rest(self) -> bool:
        """End the sender thread until the next `start`; return whether there was one."""
        self._closing = True
        if self._sender in (0, _thread.get_ident()):
            return False
        if self._wake.locked():
            self._wake.release()
        if not self._sending.acquire(timeout=2.0):
            return False
        self._sending.release()
        self._sender = 0
        return True

    def thread_time(self) -> float:
        """Return the CPU seconds that the sender thread has used."""
        return self._cpu / 1e9

    def abandon(self) -> None:
        """Let go in a forked child: thread and connection are the parent's, and locks may stay held."""
        self._prompt_wake.awake()
        self._lock, self._sending, self._sender = threading.Lock(), threading.Lock(), 0
        self.channel.alive = False
        self._queues.clear()
        self._pending.clear()

    def _run(self) -> None:
        before = self._cpu
        try:
            for tick in itertools.count():
                if self._closing or not self.channel.alive:
                    break
                if self._on_tick is not None:
                    self._guard(self._on_tick)
                if tick % self._ticks == 0:
                    self._guard(self._tick)
                    self._guard(self._listen)
                self._cpu = before + _thread_time_ns()
                if self._may_wake_promptly is not None and self._may_wake_promptly():
                    self._prompt_wake.sleeping()
                self._wake.acquire(timeout=self._period)
                self._prompt_wake.awake()
        finally:
            self._prompt_wake.awake()
            self._sending.release()
        if self._on_gone is not None and not self._closing:
            self._guard(self._on_gone)

    def _listen(self) -> None:
        for command in self.channel.received():
            self._on_command(command)

    def _tick(self) -> None:
        with self._lock:
            # Heads first, so that an event emitted before a sample was put travels before that sample. Most
            # of a thousand streams are idle and cost no more than this comparison.
            queues, folds, lost = self._queues.copy(), self._folds, self._lost
            heads = [
                (number, queue, head)
                for number, queue in queues.items()
                if (head := queue.head) > queue.tail or number in folds or queue.lost > lost.get(number, 0)
            ]
            self._send_pending()
            for number, queue, head in heads:
                self._ship(number, queue, head)
            self.channel.flush()

    def _send_pending(self) -> None:
        while self._pending:
            # Taken out first: what cannot be sent at all must not be retried forever, and `emit` may push it
            # out meanwhile.
            event = self._pending.popleft()
            if not self.channel.send(event):
                self._pending.appendleft(event)
                return
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self.channel.send(Note(f"{dropped:,} events were dropped because the watcher was slow."))

    def _ship(self, number: int, queue: SampleRing | SampleBuffer, head: int) -> None:
        folds = self._folds
        if number in folds and self.channel.send(folds[number].event(number)):
            del folds[number]
        while queue.tail < head:
            first, packed = queue.drain(head, MAX_SAMPLES)
            if not packed:
                continue
            # Once something waits, what comes after it waits too: the order is part of the meaning.
            if number in folds or self._pending or not self.channel.send(Samples(number, first, packed)):
                folds.setdefault(number, _Fold()).add(first, packed)
        if queue.lost != self._lost.get(number, 0) and self.channel.send(Lost(number, queue.lost)):
            self._lost[number] = queue.lost

    def _guard(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            let_through(error)
            self.errors += 1
            if self.errors <= _MAX_ERRORS:
                self.emit(Note(f"Error in tfslowtop's agent: {type(error).__name__}: {error}"))


assert SAMPLE.size == 3 * array("q").itemsize  # _Fold relies on it
