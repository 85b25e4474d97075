"""What all hooks share: the tracker, the streams by line, the tallies, and the handling of our own errors."""

from __future__ import annotations

import sys
import threading
import time
from _thread import get_ident
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..code.ownership import Ownership
from ..protocol.events import Gauge, Note
from ..protocol.names import GaugeName, StreamKind, TallyKind
from ..safety.signal_handlers import let_through
from ..safety.weak_table import WeakTable
from ..sender import Agent
from ..steps.streams import DATA, UPDATE, Iteration, Stream
from ..steps.tracker import Tracker
from ..tallies import Tallies
from .patch import Wrap, hide_wrapper_frame
from .tracing_state import Tracing

#: Errors of our own that are reported one by one; all are counted.
_MAX_NOTES = 20

#: Streams of calls. Later ones share one stream per kind: each takes a kilobyte of the program's memory and a
#: look at every tick.
MOST_STREAMS = 1_000


class HookContext:
    def __init__(self, agent: Agent, script: str, main: int | None = None) -> None:
        """`main` is the thread whose time is accounted for: the main thread, if it is None."""
        self.agent = agent
        self.main = main or threading.main_thread().ident or 0
        self.errors = 0
        self.ownership = Ownership(script)
        self.tracker = Tracker(self.ownership, self.report_error, self.main)
        self.tallies = Tallies(self.ownership)
        self.tracing = Tracing()
        """Which threads are tracing a function: what they do then is part of the trace."""
        self.pulls = [0, 0]
        """Results pulled to the host so far, and the bits of that number that must be zero to look at one."""
        self.traces = 0
        """The number of traces so far."""
        self.sources: set[int] = set()
        """Variables that gradients were taken of, by id."""
        self.functions: list[Stream] = []
        self.by_code: dict[int | str, Stream] = {}
        """The streams of tf.functions, by the id of their code (or by name)."""
        self.concrete: WeakTable[tuple[CodeType | None, int]] = WeakTable()
        """The code that a concrete function was traced from, and the id of its cache."""
        self.graphs: WeakTable[None] = WeakTable()
        """Graphs that a Session has run."""
        self.trace_runs = False
        """Whether some Session.run calls need a trace to be understood: see `traced_runs`."""
        self.library_held: dict[str, Callable[[], Any]] = {}
        """Objects of the program's that only a library holds, by their class."""
        self.busy: set[tuple[str, int]] = set()
        """What is being created, loaded or saved right now, and by which thread."""
        self.timed_calls: dict[int, StreamKind] = {}
        """By the id of a wrapper's code: the kind of stream into which it times every call."""
        self.called_back_at = 0
        """When TensorFlow last called Python back, on a thread of its own."""
        self.does: dict[int, int] = {}
        """What a traced function does, by the id of its cache: functions of the same code may do different
        things."""
        self.importing = False
        """Whether TensorFlow is being imported; `imported_at` is when that ended."""
        self.imported_at = 0
        self._shared: dict[StreamKind, Stream] = {}
        """By kind: the stream of all that are beyond the limit."""
        self._sites: dict[tuple[StreamKind, str, int, int], Stream] = {}
        self._kept: list[CodeType | None] = []
        self._gauges: dict[GaugeName, float] = {}

    @property
    def hooked(self) -> bool:
        """Whether there is anything to hook: TensorFlow."""
        return "tensorflow" in sys.modules

    def report_error(self, error: BaseException) -> None:
        """Count and report an error of our own, in an `except` block; re-raise one that belongs to the
        program."""
        let_through(error)
        self.errors += 1
        if self.errors <= _MAX_NOTES:
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = f" ({place.tb_frame.f_code.co_name}:{place.tb_lineno})" if place else ""
            self.agent.emit(Note(f"Error in tfslowtop's agent: {type(error).__name__}: {error}{where}"))

    def keep(self, code: CodeType | None) -> None:
        """Keep a code object alive, so that its id stays unique."""
        self._kept.append(code)

    def gauge(self, name: GaugeName, now: int, value: float) -> None:
        if self._gauges.get(name) != value:
            self._gauges[name] = value
            self.agent.emit(Gauge(name, now, float(value)))

    def last_gauge(self, name: GaugeName) -> float:
        """Return the value that was last sent; 0 before the first."""
        return self._gauges.get(name, 0.0)

    def calls_of(self, kind: StreamKind) -> int:
        """Return how many calls of this kind the busiest line of the user's code has made."""
        counts = [s.count for s in self._sites.copy().values() if s.kind == kind]
        return max(counts, default=0)

    def stream(self, kind: StreamKind, name: str, file: str, line: int) -> Stream:
        """Open a stream for something that is called; past a limit, return a shared one."""
        if not self.full:
            return self._open(kind, name, file, line)
        if not self._shared:
            self.agent.emit(
                Note(f"More than {MOST_STREAMS:,} functions and call sites: later ones count as one.")
            )
        shared = self._shared.get(kind)
        if shared is None:
            shared = self._shared[kind] = self._open(kind, "others", "", 0)
        return shared

    def _open(self, kind: StreamKind, name: str, file: str, line: int) -> Stream:
        stream = Stream(kind, name, file, line)
        stream.id = self.agent.adopt(stream.buffer, name, kind, file, line, self.ownership.is_library(file))
        self.functions.append(stream)
        return stream

    @property
    def full(self) -> bool:
        """Whether the limit of streams is reached. Then no code needs to be remembered either."""
        return len(self.functions) >= MOST_STREAMS

    def site(self, kind: StreamKind, name: str, frame: FrameType | None) -> Stream:
        """Return the stream of calls at one line of the user's code."""
        user = self.ownership.user_frame(frame)
        key = (kind, name, id(user.f_code), user.f_lasti) if user is not None else (kind, name, 0, 0)
        stream = self._sites.get(key)
        if stream is None and self.full:
            return self.stream(kind, name, "", 0)
        if stream is None:
            if user is not None:
                self.keep(user.f_code)
            file, line = (user.f_code.co_filename, user.f_lineno or 0) if user is not None else ("", 0)
            same = (
                s
                for s in self._sites.copy().values()
                if (s.kind, s.name, s.file, s.line) == (kind, name, file, line)
            )
            stream = next(same, None) or self.stream(kind, name, file, line)
            self._sites[key] = stream
        return stream

    def timed(
        self,
        of: Callable[[FrameType | None, tuple[Any, ...]], Stream],
        bits: int,
        *,
        ends: tuple[str, ...] = (),
        when: Callable[[], bool] | None = None,
        first: Callable[[tuple[Any, ...], dict[str, Any]], None] | None = None,
    ) -> Wrap:
        """Make a wrapper that times a call into the stream that `of` returns, and counts it for the loop
        around it.

        `ends` names exceptions that mean "no more data": such a call is not an iteration of the loop. While a
        function is traced, the call is only recorded as something that this function does. `when` says
        whether a call counts at all: in a TensorFlow 1 graph, a call only adds ops. `first` gets the
        arguments of every call.
        """
        mark, gives = bits & UPDATE, bool(bits & DATA)
        tracing, here, clock, getframe, enter, report_error = (
            self.tracing.any,
            self.tracing.here,
            time.perf_counter_ns,
            sys._getframe,
            self.tracker.enter,
            self.report_error,
        )

        def done(iteration: Iteration | None, stream: Stream, start: int) -> None:
            end = clock()
            stream.buffer.put((start, end - start, 0))
            if iteration is not None:
                iteration.end = end
                iteration.bits |= bits | stream.bits
                iteration.what = id(stream)

        def before(frame: FrameType | None, args: tuple[Any, ...]) -> Stream | None:
            try:
                return of(frame, args)
            except Exception as error:
                report_error(error)
                return None

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwds: Any) -> Any:
                iteration = None
                try:
                    if first is not None:
                        first(args, kwds)
                    if tracing and (traced := here()) is not None:
                        traced[-1] |= mark
                        return original(*args, **kwds)
                    if when is not None and not when():
                        return original(*args, **kwds)
                    start = clock()
                    frame = getframe()
                    iteration = enter(frame, start, 0, id(args[0]) if gives else 0)
                    stream = before(frame.f_back, args)
                    del frame  # it holds this very frame: a cycle
                    result = original(*args, **kwds)
                except BaseException as error:
                    if iteration is not None and ends and type(error).__name__ in ends:
                        iteration.void = True
                    hide_wrapper_frame(error)
                    raise
                if stream is not None:
                    done(iteration, stream, start)
                return result

            return wrapper

        return wrap

    def reported(
        self, what: TallyKind, report: Callable[[FrameType | None, tuple[Any, ...], int], None]
    ) -> Wrap:
        """Make a wrapper that reports the caller, the arguments and the wall time of every call.

        A call inside another call of its kind is part of that one.
        """
        busy, clock, getframe, report_error = (
            self.busy,
            time.perf_counter_ns,
            sys._getframe,
            self.report_error,
        )

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwds: Any) -> Any:
                key = (what, get_ident())
                outermost, start = key not in busy, clock()
                busy.add(key)
                try:
                    result = original(*args, **kwds)
                except BaseException as error:
                    hide_wrapper_frame(error)
                    raise
                finally:
                    if outermost:
                        busy.discard(key)
                if outermost:
                    try:
                        report(getframe().f_back, args, clock() - start)
                    except Exception as error:
                        report_error(error)
                return result

            return wrapper

        return wrap
