"""Follows the user's loops from the calls that the hooks see.

Every hooked call happens somewhere: at a place in the user's frame, which was called from a place in
another. The bytecode of each says which loops are around that place, and whether the way from the place of
the call before leads forward or round. So a loop's turns are counted wherever anything in its body, at
whatever depth of calls, is seen by a hook, without tracing a single line.

To know a frame again, a mark is left in its `f_trace`: it does nothing as long as nobody calls
`sys.settrace`, it dies with the frame, and it keeps nothing alive. The walk outwards ends at the first
frame that is known, because whoever called that one has not moved since.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .flow import Flow, Ring, analyse
from .loops import Loop, Turn
from .places import Places

_GENERATOR = 0x20 | 0x80 | 0x200
_MANY = 20_000

# How to get from one place to another: turns to keep, whether the last of them went round, loops to begin;
# and whether the place is where a `for` asks for its next item, twice in a row.
Move = tuple[int, bool, tuple[Loop, ...], bool]


class Code:
    """What is known of one code object."""

    __slots__ = ("calls", "code", "flow", "library", "loops", "moves", "name", "tracker")

    def __init__(self, tracker: Tracker, code: CodeType, library: bool) -> None:
        self.code, self.library, self.tracker = code, library, tracker
        self.flow: Flow | None = None
        self.moves: dict[int, Move] = {}
        self.loops: dict[Ring, Loop] = {}
        self.name = code.co_name
        self.calls: Loop | None = None

    def around(self, offset: int) -> list[Loop]:
        if self.flow is None:
            self.flow = analyse(self.code)
        result = []
        for ring in self.flow.around(offset):
            loop = self.loops.get(ring)
            if loop is None:
                loop = self.loops[ring] = self.tracker.loop(
                    "loop", self.name, self.code.co_filename, ring.line
                )
                loop.generator = bool(self.code.co_flags & _GENERATOR)
            result.append(loop)
        return result

    def move(self, last: int, here: int) -> Move:
        """From the last place to this one; -1 is the entry of the function."""
        now = self.around(here)
        if last < 0:
            return 0, False, tuple(now), False
        before = self.around(last)
        common = 0
        while common < min(len(before), len(now)) and before[common] is now[common]:
            common += 1
        assert self.flow is not None
        round_again = common > 0 and not self.flow.forward(last, here)
        tests = last == here and any(ring.test == here for ring in self.flow.around(here)[-1:])
        return common, round_again, tuple(now[common:]), tests


class _Entered:
    """The mark on the frame of a wrapper of ours that has told the tracker of its call."""

    __slots__ = ()

    def __call__(self, *_: Any) -> None:
        """What a tracer that starts later finds in the frame: nothing to do."""


ENTERED = _Entered()


class Visit:
    """The mark on a frame: a function of the user's while it runs, or a library's that it called."""

    __slots__ = ("base", "call", "code", "last", "main", "own", "round", "turn")

    def __init__(self, code: Code | None, base: Turn | None, last: int, main: bool) -> None:
        self.code, self.base, self.last, self.main = code, base, last, main
        self.round = -1
        self.own: list[Turn] = []
        self.turn = base
        self.call: Turn | None = None

    def __call__(self, *_: Any) -> None:
        """What a tracer that starts later finds in the frame: nothing to do."""

    def move(self, move: Move, here: int, now: int, what: int) -> Turn | None:
        keep, again, begin, tests = move
        own = self.own
        # A loop whose end is seen, or that has been through its functions and is at the first one again, was
        # left and entered anew: so the loop around it went round, though no hook sees anything in its body.
        if again and (
            (tests and own[keep - 1].is_over())
            or (what and keep > 1 and own[keep - 2].first == what != own[keep - 1].what)
        ):
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
        self.last = here
        self.round = here if own else -1  # the same place again is the next turn
        self.turn = own[-1] if own else self.base
        return self.turn

    def __del__(self) -> None:
        try:
            while self.own:
                self.own.pop().close()
            if self.call is not None:
                self.call.close()
        except Exception:
            pass  # the interpreter is going down


class Tracker:
    def __init__(self, places: Places, oops: Callable[[BaseException], None]) -> None:
        self.places = places
        self.loops: list[Loop] = []
        self._codes: dict[int, Code] = {}
        self._oops = oops
        self._main = threading.main_thread().ident
        self._wanted: tuple[str, int] = ("", 0)
        self.errand: Callable[[FrameType | None], None] | None = None
        """Something to do once on the main thread, at its next hooked call, with the frame that makes it."""

    def count_calls_of(self, name: str, line: int = 0) -> None:
        """Calls of the user's functions of that name, or defined at that line of that file, repeat too."""
        self._wanted = (name, line)

    def loop(self, kind: str, name: str, file: str, line: int) -> Loop:
        loop = Loop(kind, name, file, line)
        self.loops.append(loop)
        return loop

    def enter(self, wrapper: FrameType, now: int, what: int = 0) -> Turn | None:
        """A hooked call begins, in the wrapper's frame; the turn that it belongs to, if any. Never raises."""
        try:
            wrapper.f_trace = ENTERED
            frame = wrapper.f_back
            if self.errand is not None:
                self._run(frame)
            if frame is None:
                return None
            visit: Any = frame.f_trace
            if visit.__class__ is Visit and visit.code is not None:
                here = frame.f_lasti
                if here == visit.round:
                    turn: Any = visit.turn
                    if (what == turn.what or not what) and not turn.void:
                        turn.again(now)
                        return turn  # type: ignore[no-any-return]
                return self._step(visit, here, now, what)
            return self._walk(frame, now, what)
        except Exception as error:
            self._oops(error)
            return None

    def _run(self, frame: FrameType | None) -> None:
        errand = self.errand
        if errand is not None and threading.get_ident() == self._main:
            self.errand = None
            errand(frame)

    def finish(self) -> None:
        """Ends what is still on its way in the frames of all threads, and takes the marks off."""
        for frame in list(sys._current_frames().values()):
            here: FrameType | None = frame
            while here is not None:
                mark: Any = here.f_trace
                if mark.__class__ in (Visit, _Entered):
                    del mark
                    here.f_trace = None  # its last reference: the turns are closed on the way
                here = here.f_back

    def _step(self, visit: Visit, here: int, now: int, what: int) -> Turn | None:
        code = visit.code
        assert code is not None
        key = visit.last << 32 | here
        move = code.moves.get(key)
        if move is None:
            move = code.moves[key] = code.move(visit.last, here)
        if not move[1] and not move[2] and len(visit.own) == move[0]:
            visit.last = here
            visit.round = here if visit.own else -1
            return visit.turn
        return visit.move(move, here, now, what)

    def _walk(self, frame: FrameType, now: int, what: int) -> Turn | None:
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
                    turn = visit.turn if entered else self._step(visit, at.f_lasti, now, what)
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
            if code.calls is not None:
                visit.call = turn = visit.base = visit.turn = Turn(code.calls, now, turn)
                code.calls.main = main
            if at.f_trace is None:  # a debugger's is left alone
                at.f_trace = visit
            here = at.f_lasti
            move = code.moves.get(~here) or code.moves.setdefault(~here, code.move(-1, here))
            turn = visit.move(move, here, now, what)
            self._mark(below, turn)
        return turn

    def _mark(self, frame: FrameType | None, turn: Turn | None) -> None:
        if frame is None:
            return
        visit: Any = frame.f_trace
        if visit is None:
            generator = frame.f_code.co_flags & _GENERATOR
            frame.f_trace = Visit(None, turn, frame.f_lasti if generator else -1, False)
        elif visit.__class__ is Visit:
            visit.turn = turn

    def _learn(self, code: CodeType) -> Code:
        if len(self._codes) > _MANY:
            self._codes.clear()
        known = Code(self, code, self.places.is_library(code.co_filename))
        name, line = self._wanted
        if name and not known.library and (code.co_name == name or (line and _is_at(code, name, line))):
            known.calls = self.loop("call", code.co_name, code.co_filename, code.co_firstlineno)
        self._codes[id(code)] = known
        return known


def _is_at(code: CodeType, file: str, line: int) -> bool:
    return code.co_firstlineno == line and code.co_filename.endswith(file)
