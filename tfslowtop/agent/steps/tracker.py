"""Follows the user's loops from the calls that the hooks see.

Every hooked call happens somewhere: at a place in the user's frame, which was called from a place in
another. The bytecode of each says which loops are around that place, and whether the way from the place of
the call before leads forward or round. So a loop's turns are counted wherever anything in its body, at
whatever depth of calls, is seen by a hook, without tracing a single line.

Where that leaves two answers (a loop in whose body nothing is hooked but the loop inside it; two calls of
which a turn makes one), the variable of a `for` has the last word, where it can be looked at without copying
the frame's variables: at the top level of a file, and from Python 3.13 on everywhere.

To know a frame again, a mark is left in its `f_trace`: it does nothing as long as nobody calls
`sys.settrace`, it dies with the frame, and it keeps nothing alive. The walk outwards ends at the first
frame that is known, because whoever called that one has not moved since.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..code.ownership import Places
from ..protocol.names import STREAM_NAMED, StreamKind
from ..safety.frames import uncollected
from .code_loops import GENERATOR, Code, Move
from .streams import IDLE, Loop, Turn

#: Code objects that are followed. A program that makes more (exec in a loop) has shown its loops by then.
_MANY = 20_000
#: Loops that are watched; each takes a kilobyte of the program's memory and a look at every tick.
MOST_LOOPS = 4_000

#: The giver of nothing: a result is looked at. One instruction may do that several times: "%f %f" % (a, b).
LOOK = -1


class _Entered:
    """The mark on the frame of a wrapper of ours that has told the tracker of its call."""

    __slots__ = ()

    def __call__(self, *_: Any) -> None:
        """What a tracer that starts later finds in the frame: nothing to do."""


ENTERED = _Entered()


class Visit:
    """The mark on a frame: a function of the user's while it runs, or a library's that it called."""

    __slots__ = ("__weakref__", "base", "code", "last", "main", "own", "round", "turn")

    def __init__(self, code: Code | None, base: Turn | None, last: int, main: bool) -> None:
        self.code, self.base, self.last, self.main = code, base, last, main
        self.round = -1
        self.own: list[Turn] = []
        self.turn = base

    def __call__(self, *_: Any) -> None:
        """What a tracer that starts later finds in the frame: nothing to do."""

    def move(self, move: Move, frame: FrameType, now: int, what: int, giver: int) -> Turn | None:
        keep, again, begin = move
        own, here = self.own, frame.f_lasti
        if again and self._anew(keep, here, what):
            begin = (own[keep - 1].loop, *begin)
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
            own.append(Turn(loop, now, own[-1] if own else self.base))
            if loop.item and loop.test != here:
                own[-1].item = id(frame.f_locals.get(loop.item))
        if own:
            own[-1].giver = giver if giver == LOOK or own[-1].loop.test == here else 0
        self.last = here
        self.round = self.again_at(here)
        self.turn = own[-1] if own else self.base
        return self.turn

    def same_turn(self, here: int, giver: int) -> bool:
        """Whether one instruction makes several calls, so that to come to it again is not the next turn.

        A `zip` of two datasets, a `map` of a function over one; or it looks at several results.
        """
        if not self.own or here != self.last:
            return False
        turn = self.own[-1]
        if here != turn.loop.test:
            return giver == LOOK == turn.giver and bool(turn.below or turn.bits & ~IDLE)
        return turn.giver not in (0, giver) and not turn.is_over()

    def _anew(self, keep: int, here: int, what: int) -> bool:
        """Whether a loop that seems to go round was left and entered anew, by the loop around it.

        Its end was seen; or it has been through the functions that one of its places calls in turn, and is at
        the first one again.
        """
        loop = self.own[keep - 1]
        if here == self.last == loop.loop.test and loop.is_over():
            return True
        if keep < 2 or not what or here != self.last:
            return False
        outer = self.own[keep - 2]
        return not outer.loop.item and outer.first == what != loop.what

    def again_at(self, here: int) -> int:
        """The place at which the next call is the next turn of a loop."""
        return here if self.own and self.own[-1].loop.test != here else -1

    def only_innermost(self, frame: FrameType) -> bool:
        """Whether the loops around the innermost one have the items that they had; notes its own new one."""
        own, variables = self.own, frame.f_locals
        for turn in own:
            name = turn.loop.item
            if name and turn is not own[-1] and id(variables.get(name)) != turn.item:
                return False
        if name:
            turn.item = id(variables.get(name))
        return True


class _Gone(weakref.ref[Visit]):
    """What is left of a visit when its frame has ended: the turns that end with it."""

    __slots__ = ("call", "key", "own")

    def __init__(self, visit: Visit, gone: Callable[[_Gone], None]) -> None:
        super().__init__(visit, gone)  # type: ignore[call-arg]
        self.own, self.key = visit.own, id(visit)
        self.call: Turn | None = None


class Tracker:
    def __init__(self, places: Places, oops: Callable[[BaseException], None]) -> None:
        self.places = places
        self.loops: list[Loop] = []
        self._codes: dict[int, Code] = {}
        self._oops = oops
        self._main = threading.main_thread().ident
        self._wanted: tuple[str, int] = ("", 0)
        self.seen = 0
        """When the last call was seen."""
        self._visits: dict[int, _Gone] = {}
        self._gone: deque[_Gone] = deque()
        """Visits whose frames have ended since the last call. No finalizer closes them: Python ignores what a
        signal handler raises in one."""
        self.errand: Callable[[FrameType | None], None] | None = None
        """Something to do once on the main thread, at its next hooked call, with the frame that makes it."""

    def count_calls_of(self, name: str, line: int = 0) -> None:
        """Calls of the user's functions of that name, or defined at that line of that file, repeat too."""
        self._wanted = (name, line)

    def loop(self, kind: StreamKind, name: str, file: str, line: int) -> Loop:
        """A loop of its own; past a limit one that nobody looks at."""
        loop = Loop(kind, name, file, line)
        if len(self.loops) < MOST_LOOPS:
            self.loops.append(loop)
        else:
            loop.buffer.discard()
        return loop

    def enter(self, wrapper: FrameType, now: int, what: int = 0, giver: int = 0) -> Turn | None:
        """A hooked call begins, in the wrapper's frame; the turn that it belongs to, if any. Never raises.

        `what` is the function that is called, by id, and `giver` what gives an item, or LOOK.
        """
        try:
            self.seen = now
            wrapper.f_trace = ENTERED
            frame = wrapper.f_back
            if self.errand is not None:
                self.run_errand(frame)
            if self._gone:
                self.close_ended()
            if frame is None:
                return None
            visit: Any = frame.f_trace
            if visit.__class__ is Visit and visit.code is not None:
                here = frame.f_lasti
                if here == visit.round and giver != LOOK:
                    turn: Any = visit.turn
                    known = what == turn.what or not what
                    if known and not turn.void and (not visit.code.items or visit.only_innermost(frame)):
                        turn.again(now)
                        return turn  # type: ignore[no-any-return]
                return self._step(visit, frame, now, what, giver or what)
            return self._walk(frame, now, what, giver or what)
        except Exception as error:
            if self.places.is_users(error):
                raise
            self._oops(error)
            return None

    def run_errand(self, frame: FrameType | None) -> None:
        """If this is the main thread."""
        errand = self.errand
        if errand is None or threading.get_ident() != self._main:
            return
        self.errand = None
        try:
            errand(frame)
        except Exception as error:
            if self.places.is_users(error):
                raise
            self._oops(error)

    def close_ended(self) -> None:
        """Closes the turns of frames that have ended."""
        gone = self._gone
        while gone:
            try:
                visit = gone.popleft()
            except IndexError:
                return  # another thread has just taken it
            self._visits.pop(visit.key, None)
            while visit.own:
                visit.own.pop().close()
            if visit.call is not None:
                visit.call.close()

    def finish(self) -> None:
        """Ends what is still on its way in the frames of all threads, and takes the marks off."""
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

    def _step(self, visit: Visit, frame: FrameType, now: int, what: int, giver: int) -> Turn | None:
        code, here, own = visit.code, frame.f_lasti, visit.own
        assert code is not None
        if visit.same_turn(here, giver):
            return visit.turn
        key = visit.last << 32 | here
        move = code.moves.get(key)
        if move is None:
            move = code.moves[key] = code.move(visit.last, here)
        if own and code.items:
            move = code.next_item(own, frame) or move
        if not move[1] and not move[2] and len(own) == move[0]:
            if own:
                own[-1].giver = giver if giver == LOOK else 0
            visit.last = here
            visit.round = visit.again_at(here)
            return visit.turn
        return visit.move(move, frame, now, what, giver)

    def _walk(self, frame: FrameType, now: int, what: int, giver: int) -> Turn | None:
        """Outwards to the first known frame, then inwards again, leaving marks."""
        fresh: list[tuple[FrameType, Code, FrameType | None]] = []
        below: FrameType | None = None
        at: FrameType | None = frame
        turn: Turn | None = None
        entered = False
        while at is not None:
            visit: Any = at.f_trace
            if visit is ENTERED:
                entered = True  # inside another hooked call, which was counted when it began
            elif visit.__class__ is Visit:
                if visit.code is not None:
                    giver = 0 if fresh and giver == LOOK else giver  # a function was called, which looks
                    turn = visit.turn if entered else self._step(visit, at, now, what, giver)
                    self._mark(below, turn)
                    break
                # A library's generator lives as long as the loop over it: its first place is where a round
                # begins.
                if entered or visit.last != at.f_lasti:
                    turn = visit.turn
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
            visit = Visit(code, turn, -1, main)
            gone = self._visits[id(visit)] = _Gone(visit, self._gone.append)
            if code.calls is not None:
                gone.call = turn = visit.base = visit.turn = Turn(code.calls, now, turn)
                code.calls.main = main
            if at.f_trace is None:  # a debugger's is left alone
                at.f_trace = visit
            here = at.f_lasti
            move = code.moves.get(~here) or code.moves.setdefault(~here, code.move(-1, here))
            turn = visit.move(move, at, now, what, giver)
            self._mark(below, turn)
        return turn

    def _mark(self, frame: FrameType | None, turn: Turn | None) -> None:
        if frame is None:
            return
        visit: Any = frame.f_trace
        if visit is None:
            generator = frame.f_code.co_flags & GENERATOR
            frame.f_trace = Visit(None, turn, frame.f_lasti if generator else -1, False)
        elif visit.__class__ is Visit:
            visit.turn = turn

    def _learn(self, code: CodeType) -> Code:
        if len(self._codes) >= _MANY:
            return Code(self.loop, code, library=True)
        known = Code(self.loop, code, self.places.is_library(code.co_filename))
        name, line = self._wanted
        if name and not known.library and (code.co_name == name or (line and _is_at(code, name, line))):
            known.calls = self.loop(STREAM_NAMED, code.co_name, code.co_filename, code.co_firstlineno)
        self._codes[id(code)] = known
        return known


def loops_in(frame: FrameType) -> bool:
    """Whether a frame is in a loop that is followed."""
    visit: Any = frame.f_trace
    return visit.__class__ is Visit and bool(visit.own)


def _is_at(code: CodeType, file: str, line: int) -> bool:
    return code.co_firstlineno == line and code.co_filename.endswith(file)
