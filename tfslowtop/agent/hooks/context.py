"""What all hooks share: the clock, the loops, the streams by place, the tallies, and where errors go."""

from __future__ import annotations

import sys
import time
from _thread import get_ident
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..code.ownership import Places
from ..protocol.events import Gauge, Note
from ..protocol.names import GaugeName, StreamKind, TallyKind
from ..safety.signal_handlers import let_through
from ..safety.weak_table import WeakTable
from ..sender import Agent
from ..steps.streams import DATA, UPDATE, Loop, Turn
from ..steps.tracker import Tracker
from ..tallies import Tallies
from .patch import Wrap, unseen
from .tracing_state import Tracing

_MAX_NOTES = 20

#: Streams of things that are called. What comes later shares one stream with all others of its kind: each
#: takes a kilobyte of the program's memory and a look at every tick.
MOST_STREAMS = 1_000


class Kit:
    def __init__(self, agent: Agent, script: str) -> None:
        self.agent = agent
        self.errors = 0
        self.places = Places(script)
        self.tracker = Tracker(self.places, self.oops)
        self.tallies = Tallies(self.places)
        self.tracing = Tracing()
        """Which threads trace a function: what they do then is part of the trace."""
        self.pulls = [0, 0]
        """Results pulled to the host so far; the bits of that number that must be zero to look at one."""
        self.traces = 0
        """How many there have been."""
        self.sources: set[int] = set()
        """Variables that gradients were taken of, by id."""
        self.functions: list[Loop] = []
        self.by_code: dict[int | str, Loop] = {}
        """The streams of tf.functions, by the id of their code (or by name)."""
        self.concrete: WeakTable[tuple[CodeType | None, int]] = WeakTable()
        """The code that a concrete function was traced from, and the id of its cache."""
        self.graphs: WeakTable[None] = WeakTable()
        """Graphs that a Session has run."""
        self.trace_runs = False
        """Whether there are runs of Sessions that are not told by their time alone: see `hooks.runs`."""
        self.lent: dict[str, Callable[[], Any]] = {}
        """Objects of the program's that only a library has a name for, by their class."""
        self.busy: set[tuple[str, int]] = set()
        """What is being created, loaded, saved right now, and by which thread."""
        self.does: dict[int, int] = {}
        """What a traced function does, by the id of its cache: functions of the same code may do different
        things."""
        self.importing = False
        """Whether TensorFlow is being imported; and when that was over."""
        self.imported_at = 0
        self._shared: dict[StreamKind, Loop] = {}
        """By kind: what is one too many."""
        self._sites: dict[tuple[StreamKind, str, int, int], Loop] = {}
        self._kept: list[CodeType | None] = []
        self._gauges: dict[GaugeName, float] = {}

    @property
    def hooked(self) -> bool:
        """Whether there is anything for hooks to be in: TensorFlow."""
        return "tensorflow" in sys.modules

    def oops(self, error: BaseException) -> None:
        """In an `except` block: an error of our own is counted and told, and never becomes the program's."""
        let_through(error)
        self.errors += 1
        if self.errors <= _MAX_NOTES:
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = f" ({place.tb_frame.f_code.co_name}:{place.tb_lineno})" if place else ""
            self.agent.emit(Note(f"the agent's own error: {type(error).__name__}: {error}{where}"))

    def keep(self, code: CodeType | None) -> None:
        """Keeps a code object alive, so that its id stays its own."""
        self._kept.append(code)

    def gauge(self, name: GaugeName, now: int, value: float) -> None:
        if self._gauges.get(name) != value:
            self._gauges[name] = value
            self.agent.emit(Gauge(name, now, float(value)))

    def stream(self, kind: StreamKind, name: str, file: str, line: int) -> Loop:
        """Something that is called, with a stream of its own from the start; past a limit, a shared one."""
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

    def _open(self, kind: StreamKind, name: str, file: str, line: int) -> Loop:
        loop = Loop(kind, name, file, line)
        loop.stream = self.agent.adopt(loop.buffer, name, kind, file, line, self.places.is_library(file))
        self.functions.append(loop)
        return loop

    @property
    def full(self) -> bool:
        """Whether there are as many streams as there may be. Then no code needs to be remembered either."""
        return len(self.functions) >= MOST_STREAMS

    def site(self, kind: StreamKind, name: str, frame: FrameType | None) -> Loop:
        """The stream of one line of the user's code."""
        user = self.places.user_frame(frame)
        key = (kind, name, id(user.f_code), user.f_lasti) if user is not None else (kind, name, 0, 0)
        loop = self._sites.get(key)
        if loop is None and self.full:
            return self.stream(kind, name, "", 0)
        if loop is None:
            if user is not None:
                self.keep(user.f_code)
            file, line = (user.f_code.co_filename, user.f_lineno or 0) if user is not None else ("", 0)
            same = (
                s
                for s in self._sites.copy().values()
                if (s.kind, s.name, s.file, s.line) == (kind, name, file, line)
            )
            loop = next(same, None) or self.stream(kind, name, file, line)
            self._sites[key] = loop
        return loop

    def timed(
        self,
        of: Callable[[FrameType | None, tuple[Any, ...]], Loop],
        bits: int,
        *,
        ends: tuple[str, ...] = (),
        when: Callable[[], bool] | None = None,
        first: Callable[[tuple[Any, ...], dict[str, Any]], None] | None = None,
    ) -> Wrap:
        """A wrapper that times a call into the stream that `of` names, and counts it for the loop around it.

        `ends` are the names of exceptions that say that there is no more: such a call is no turn of a loop.
        While a function is traced, the call is only noted as something that this function does. `when` says
        whether a call counts at all: in a TensorFlow 1 graph, a call builds and does not do. `first` looks at
        the arguments of every call.
        """
        mark, gives = bits & UPDATE, bool(bits & DATA)
        tracing, here, clock, getframe, enter, oops = (
            self.tracing.any,
            self.tracing.here,
            time.perf_counter_ns,
            sys._getframe,
            self.tracker.enter,
            self.oops,
        )

        def done(turn: Turn | None, loop: Loop, start: int) -> None:
            end = clock()
            loop.buffer.put((start, end - start, 0))
            if turn is not None:
                turn.end = end
                turn.bits |= bits | loop.bits
                turn.what = id(loop)

        def before(frame: FrameType | None, args: tuple[Any, ...]) -> Loop | None:
            try:
                return of(frame, args)
            except Exception as error:
                oops(error)
                return None

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwds: Any) -> Any:
                turn = None
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
                    turn = enter(frame, start, 0, id(args[0]) if gives else 0)
                    loop = before(frame.f_back, args)
                    del frame  # it is this very frame: a cycle
                    result = original(*args, **kwds)
                except BaseException as error:
                    if turn is not None and ends and type(error).__name__ in ends:
                        turn.void = True
                    unseen(error)
                    raise
                if loop is not None:
                    done(turn, loop, start)
                return result

            return wrapper

        return wrap

    def noted(self, what: TallyKind, tell: Callable[[FrameType | None, tuple[Any, ...], int], None]) -> Wrap:
        """A wrapper that tells of every call: by whom it was made, with what, how long it took.

        What is called on the way to another call of its kind is part of that one.
        """
        busy, clock, getframe, oops = self.busy, time.perf_counter_ns, sys._getframe, self.oops

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwds: Any) -> Any:
                key = (what, get_ident())
                outermost, start = key not in busy, clock()
                busy.add(key)
                try:
                    result = original(*args, **kwds)
                except BaseException as error:
                    unseen(error)
                    raise
                finally:
                    if outermost:
                        busy.discard(key)
                if outermost:
                    try:
                        tell(getframe().f_back, args, clock() - start)
                    except Exception as error:
                        oops(error)
                return result

            return wrapper

        return wrap
