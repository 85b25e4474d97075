"""Follows the user's loops through the calls that the hooks see.

Every hooked call happens at an instruction of the user's frame, which was called from an instruction of
another. The bytecode of each says which loops are around that instruction, and whether the way from the
previous call leads forward or through another iteration. So a loop's iterations are counted wherever a hook
sees anything in its body, at whatever depth of calls, without tracing a single line.

Where that is ambiguous (a loop in whose body nothing is hooked but an inner loop; two calls of which an
iteration makes one), the variable of a `for` decides, where it can be read without copying the frame's
variables: at the top level of a file, and from Python 3.13 on everywhere.

To recognise a frame, a mark is left in its `f_trace`: it does nothing as long as nobody calls `sys.settrace`,
it dies with the frame, and it keeps nothing alive. The walk outwards ends at the first known frame, because
the caller of that frame has not moved since.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..code.ownership import Ownership
from ..protocol.names import STREAM_NAMED, StreamKind
from ..safety.frames import uncollected
from .code_loops import GENERATOR, Code, Move
from .streams import IDLE, Iteration, Stream

#: Code objects that are followed. A program that makes more (exec in a loop) has shown its loops by then.
_MANY = 20_000
#: Loops that are watched; each takes a kilobyte of the program's memory and a look at every tick.
MOST_LOOPS = 4_000

#: In place of a giver: a result is read. One instruction may do so several times: "%f %f" % (a, b).
RESULT_READ = -1


class _Entered:
    """The mark on the frame of a wrapper that has reported its call to the tracker."""

    __slots__ = ()

    def __call__(self, *_: Any) -> None:
        """Do nothing for a tracer that starts later and finds this in the frame."""


ENTERED = _Entered()


class Visit:
    """The mark on a frame: a running function of the user's, or a library's that it called."""

    __slots__ = ("__weakref__", "base", "code", "iteration", "last", "main", "own", "repeat_at")

    def __init__(self, code: Code | None, base: Iteration | None, last: int, main: bool) -> None:
        self.code, self.base, self.last, self.main = code, base, last, main
        self.repeat_at = -1
        self.own: list[Iteration] = []
        self.iteration = base

    def __call__(self, *_: Any) -> None:
        """Do nothing for a tracer that starts later and finds this in the frame."""

    def move(self, move: Move, frame: FrameType, now: int, what: int, giver: int) -> Iteration | None:
        keep, again, begin = move
        own, here = self.own, frame.f_lasti
        if again and self._anew(keep, here, what):
            begin = (own[keep - 1].stream, *begin)
            keep -= 1
        while len(own) > keep:
            own.pop().close()
        if again and own:
            own[-1].again(now)
        for loop in begin:
            loop.entries += 1
            loop.main = self.main
            loop.what = 0
            if own and not own[-1].first:
                own[-1].first = what
            own.append(Iteration(loop, now, own[-1] if own else self.base))
            if loop.item and loop.test != here:
                own[-1].item = id(frame.f_locals.get(loop.item))
        if own:
            own[-1].giver = giver if giver == RESULT_READ or own[-1].stream.test == here else 0
        self.last = here
        self.repeat_at = self.again_at(here)
        self.iteration = own[-1] if own else self.base
        return self.iteration

    def same_iteration(self, here: int, giver: int) -> bool:
        """Whether one instruction makes several calls, so that coming back to it is not the next iteration.

        A `zip` of two datasets, a `map` of a function over one, or reading several results.
        """
        if not self.own or here != self.last:
            return False
        iteration = self.own[-1]
        if here != iteration.stream.test:
            return giver == RESULT_READ == iteration.giver and bool(iteration.below or iteration.bits & ~IDLE)
        return iteration.giver not in (0, giver) and not iteration.is_over()

    def _anew(self, keep: int, here: int, what: int) -> bool:
        """Whether a loop that seems to repeat was left, and entered again by the loop around it.

        Either its end was seen, or one of its instructions has called a series of functions and is at the
        first one again.
        """
        loop = self.own[keep - 1]
        if here == self.last == loop.stream.test and loop.is_over():
            return True
        if keep < 2 or not what or here != self.last:
            return False
        outer = self.own[keep - 2]
        return not outer.stream.item and outer.first == what != loop.what

    def again_at(self, here: int) -> int:
        """Return the instruction at which the next call is the next iteration of a loop."""
        return here if self.own and self.own[-1].stream.test != here else -1

    def only_innermost(self, frame: FrameType) -> bool:
        """Whether only the innermost loop has a new item; records that item."""
        own, variables = self.own, frame.f_locals
        for iteration in own:
            name = iteration.stream.item
            if name and iteration is not own[-1] and id(variables.get(name)) != iteration.item:
                return False
        if name:
            iteration.item = id(variables.get(name))
        return True


class _EndedVisit(weakref.ref[Visit]):
    """What is left of a visit when its frame has ended: the iterations that end with it."""

    __slots__ = ("call", "key", "own")

    def __init__(self, visit: Visit, ended: Callable[[_EndedVisit], None]) -> None:
        super().__init__(visit, ended)  # type: ignore[call-arg]
        self.own, self.key = visit.own, id(visit)
        self.call: Iteration | None = None


class Tracker:
    def __init__(
        self, ownership: Ownership, report_error: Callable[[BaseException], None], main: int = 0
    ) -> None:
        self.ownership = ownership
        self.loops: list[Stream] = []
        self._codes: dict[int, Code] = {}
        self._report_error = report_error
        self._main = main or threading.main_thread().ident
        self._wanted: tuple[str, int] = ("", 0)
        self.seen = 0
        """When the last hooked call was seen."""
        self._visits: dict[int, _EndedVisit] = {}
        self._ended: deque[_EndedVisit] = deque()
        """Visits whose frames have ended since the last call. No finalizer closes them, because Python
        ignores what a signal handler raises there."""
        self.errand: Callable[[FrameType | None], None] | None = None
        """Something to do once on the main thread, at its next hooked call, with the frame that makes it."""

    def count_calls_of(self, name: str, line: int = 0) -> None:
        """Make a stream of the calls of the user's function of that name, or defined at that line of that
        file."""
        self._wanted = (name, line)

    def new_stream(self, kind: StreamKind, name: str, file: str, line: int) -> Stream:
        """Create a stream for a loop; past a limit, one whose samples are discarded."""
        loop = Stream(kind, name, file, line)
        if len(self.loops) < MOST_LOOPS:
            self.loops.append(loop)
        else:
            loop.buffer.discard()
        return loop

    def enter(self, wrapper: FrameType, now: int, what: int = 0, giver: int = 0) -> Iteration | None:
        """Record that a hooked call begins, and return the iteration that it belongs to, if any. Never
        raises.

        `wrapper` is the frame of the hook's wrapper, `what` the called function by id, and `giver` what gives
        an item, or RESULT_READ.
        """
        try:
            self.seen = now
            wrapper.f_trace = ENTERED
            frame = wrapper.f_back
            if self.errand is not None:
                self.run_errand(frame)
            if self._ended:
                self.close_ended()
            if frame is None:
                return None
            visit: Any = frame.f_trace
            if visit.__class__ is Visit and visit.code is not None:
                here = frame.f_lasti
                if here == visit.repeat_at and giver != RESULT_READ:
                    iteration: Any = visit.iteration
                    known = what == iteration.what or not what
                    if known and not iteration.void and (not visit.code.items or visit.only_innermost(frame)):
                        iteration.again(now)
                        return iteration  # type: ignore[no-any-return]
                return self._step(visit, frame, now, what, giver or what)
            return self._walk(frame, now, what, giver or what)
        except Exception as error:
            if self.ownership.is_users(error):
                raise
            self._report_error(error)
            return None

    def run_errand(self, frame: FrameType | None) -> None:
        """Run the errand, if this is the main thread."""
        errand = self.errand
        if errand is None or threading.get_ident() != self._main:
            return
        self.errand = None
        try:
            errand(frame)
        except Exception as error:
            if self.ownership.is_users(error):
                raise
            self._report_error(error)

    def close_ended(self) -> None:
        """Close the iterations of frames that have ended."""
        ended = self._ended
        while ended:
            try:
                visit = ended.popleft()
            except IndexError:
                return  # another thread has just taken it
            self._visits.pop(visit.key, None)
            while visit.own:
                visit.own.pop().close()
            if visit.call is not None:
                visit.call.close()

    def finish(self) -> None:
        """End the open iterations in the frames of all threads, and remove the marks."""
        with uncollected():
            for frame in list(sys._current_frames().values()):
                here: FrameType | None = frame
                while here is not None:
                    mark: Any = here.f_trace
                    if mark.__class__ in (Visit, _Entered):
                        del mark
                        here.f_trace = None  # its last reference
                    here = here.f_back
        self.close_ended()

    def _step(self, visit: Visit, frame: FrameType, now: int, what: int, giver: int) -> Iteration | None:
        code, here, own = visit.code, frame.f_lasti, visit.own
        assert code is not None
        if visit.same_iteration(here, giver):
            return visit.iteration
        key = visit.last << 32 | here
        move = code.moves.get(key)
        if move is None:
            move = code.moves[key] = code.move(visit.last, here)
        if own and code.items:
            move = code.next_item(own, frame) or move
        if not move[1] and not move[2] and len(own) == move[0]:
            if own:
                own[-1].giver = giver if giver == RESULT_READ else 0
            visit.last = here
            visit.repeat_at = visit.again_at(here)
            return visit.iteration
        return visit.move(move, frame, now, what, giver)

    def _walk(self, frame: FrameType, now: int, what: int, giver: int) -> Iteration | None:
        """Go outwards to the first known frame, then inwards again, leaving marks."""
        fresh: list[tuple[FrameType, Code, FrameType | None]] = []
        below: FrameType | None = None
        at: FrameType | None = frame
        iteration: Iteration | None = None
        entered = False
        while at is not None:
            visit: Any = at.f_trace
            if visit is ENTERED:
                entered = True  # inside another hooked call, which was counted when it began
            elif visit.__class__ is Visit:
                if visit.code is not None:
                    giver = 0 if fresh and giver == RESULT_READ else giver  # the called function reads it
                    iteration = visit.iteration if entered else self._step(visit, at, now, what, giver)
                    self._mark(below, iteration)
                    break
                # A library's generator lives as long as the loop over it: its first instruction is where an
                # iteration begins.
                if entered or visit.last != at.f_lasti:
                    iteration = visit.iteration
                    break
            code = self._codes.get(id(at.f_code)) or self._learn(at.f_code)
            if code.library:
                below = at
            else:
                fresh.append((at, code, below))
                below = None
            at = at.f_back
        main = threading.get_ident() == self._main
        for at, code, below in reversed(fresh):
            visit = Visit(code, iteration, -1, main)
            ended = self._visits[id(visit)] = _EndedVisit(visit, self._ended.append)
            if code.calls is not None:
                ended.call = iteration = visit.base = visit.iteration = Iteration(code.calls, now, iteration)
                code.calls.main = main
            if at.f_trace is None:  # a debugger's own is left alone
                at.f_trace = visit
            here = at.f_lasti
            move = code.moves.get(~here) or code.moves.setdefault(~here, code.move(-1, here))
            iteration = visit.move(move, at, now, what, giver)
            self._mark(below, iteration)
        return iteration

    def _mark(self, frame: FrameType | None, iteration: Iteration | None) -> None:
        if frame is None:
            return
        visit: Any = frame.f_trace
        if visit is None:
            generator = frame.f_code.co_flags & GENERATOR
            frame.f_trace = Visit(None, iteration, frame.f_lasti if generator else -1, False)
        elif visit.__class__ is Visit:
            visit.iteration = iteration

    def _learn(self, code: CodeType) -> Code:
        if len(self._codes) >= _MANY:
            return Code(self.new_stream, code, library=True)
        known = Code(self.new_stream, code, self.ownership.is_library(code.co_filename))
        name, line = self._wanted
        if name and not known.library and (code.co_name == name or (line and _is_at(code, name, line))):
            known.calls = self.new_stream(STREAM_NAMED, code.co_name, code.co_filename, code.co_firstlineno)
        self._codes[id(code)] = known
        return known


def loops_in(frame: FrameType) -> bool:
    """Whether a frame is in a loop that is followed."""
    visit: Any = frame.f_trace
    return visit.__class__ is Visit and bool(visit.own)


def _is_at(code: CodeType, file: str, line: int) -> bool:
    return code.co_firstlineno == line and code.co_filename.endswith(file)
