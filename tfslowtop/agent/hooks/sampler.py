"""Where the main thread is, ten times a second: which line of the user's code, and in what it is busy.

One look at one frame per tick costs microseconds, so it is always on. It sees what no other hook does: time
that is spent outside TensorFlow. Where the looks would be drawn to calls of TensorFlow's, a close look says
how the time of several of them is to be divided.
"""

from __future__ import annotations

import linecache
import re
import sys
import threading
from types import CodeType, FrameType

from ..protocol.names import (
    CALLEE_JOIN,
    CALLEE_WRITE,
    MODULE_FILE,
    PACKAGE_NUMPY,
    PACKAGE_TRACING,
    PACKAGE_UNKNOWN,
    PACKAGE_USER,
    TALLY_WHERE,
    TALLY_WHERE_CALLED_BACK,
)
from ..safety.frames import uncollected
from ..tallies import Details, line_of
from .base import Hook
from .context import Kit
from .profile_burst import OURS, OWN, STAND_FOR_OTHERS, Close, Place, Running

#: A tick that came late stands for the time since the last one, but not for more than this.
_MOST = 1_000_000_000
#: Nanoseconds after which Python takes the interpreter from a thread that does not let go of it.
_TAKEN = 5_000_000
#: Nanoseconds between two close looks, the first ones and later; places that are kept of one.
_EARLY, _PAUSE = 500_000_000, 4_000_000_000
_FIRST = 6
_DEAREST = 24
#: A line that writes by C that it calls directly: no other frame would tell.
_WRITING = re.compile(
    r"\b(?:print|write|writelines|writerows?|fsync|flush|dump)\(|\bopen\([^)]*[\"'][wax]b?\+?t?[\"']"
)
_WRITES = Running(PACKAGE_USER, CALLEE_WRITE, MODULE_FILE)
#: A line that joins an array and more to a new array of the same name.
_JOINING = re.compile(
    r"(?<![\w.\]])(?P<name>[A-Za-z_][\w.]*(?:\[\w+\])?)\s*=[^=].*?"
    r"\b(?:append|concat|concatenate|vstack|hstack|dstack|stack|column_stack|row_stack|insert|resize|r_|c_)\s*[(\[]"
    r".*(?<![\w.])(?P=name)(?![\w.(\[])",
    re.S,
)
_JOINS = Running(PACKAGE_NUMPY, CALLEE_JOIN, PACKAGE_NUMPY)
#: Lines of a statement that are read, at most.
_STATEMENT = 4
#: Functions of NumPy's that call the user's for each item.
_EACH = ("apply_along_axis", "_vectorize_call", "_vectorize_call_with_signature")
#: Frames between the user's function and those, at most.
_NEAR = 8


class WhereHook(Hook):
    title = "where the time goes"

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._main = threading.main_thread().ident
        self._last = 0
        self._close: Close | None = None
        self._looks = self._next = 0
        self._shares: dict[Place, float] = {}
        """Of the time in which calls follow each other closely, by place, as of the last close look."""
        self._meanings: dict[tuple[int, int], Running] = {}

    def tick(self, now: int) -> None:
        wall = min(now - self._last, _MOST) if self._last else 0
        self._last = now
        with uncollected():
            met = self._meet(wall)
        if met is not None and not self._is_drawn(now, wall):
            self._count(*met, wall)

    def _meet(self, wall: int) -> tuple[Running, CodeType, int] | None:
        """With what the main thread is busy, and where."""
        frames = sys._current_frames()
        # Our own frame refers to this dict: with ours in it, a cycle would keep the program's frames alive.
        frames.pop(threading.get_ident(), None)
        frame = frames.pop(self._main or 0, None)
        if frame is None or not wall:
            return None
        for other in frames.values():
            self._look_at(other, wall)
        user, callee, module = self._users(frame)
        if user is None:
            return None
        if self.kit.tracing.is_tracing(self._main or 0):
            running = Running(PACKAGE_TRACING, callee, module)
        elif (outer := self._gives_each(user)) is not None:
            user, running = outer
        else:
            running = Running(_package(frame, user), callee, module)
        return running, user.f_code, user.f_lasti

    def _count(self, running: Running, code: CodeType, offset: int, wall: int) -> None:
        if running == OWN or running.package == PACKAGE_NUMPY:
            meaning = self._meaning(code, offset)
            running = meaning if running == OWN or meaning not in (OWN, _WRITES) else running
        first = code.co_firstlineno if code.co_name != "<module>" else 0
        details = Details(running.callee, running.package, running.module, first, running.array)
        self.kit.tallies.at(TALLY_WHERE, details, code, offset, wall, 0)

    def _meaning(self, code: CodeType, offset: int) -> Running:
        """Of what a line does by C that it calls."""
        known = self._meanings.get((id(code), offset))
        if known is None:
            file, line = line_of(code, offset)
            first, *more = [linecache.getline(file, line + i) for i in range(_STATEMENT)]
            statement = first
            while more and statement.count("(") > statement.count(")"):
                statement += more.pop(0)
            joins = _JOINING.search(statement)
            if _WRITING.search(first):
                known = _WRITES
            else:
                known = _JOINS._replace(array=joins["name"]) if joins else OWN
            self._meanings[id(code), offset] = known
        return known

    def _is_drawn(self, now: int, wall: int) -> bool:
        """Whether the thread was met where it let go of the interpreter: then close looks say where it is."""
        tracker, close = self.kit.tracker, self._close
        if close is not None and close.over:
            self._learn(close)
            self._close = close = None
        if now - tracker.seen > _TAKEN or self.kit.tracing.is_tracing(self._main or 0):
            return False
        if close is None and now >= self._next and tracker.errand is None:
            self._looks += 1
            self._next = now + (_EARLY if self._looks < _FIRST else _PAUSE)
            self._close = Close(tracker)
            tracker.errand = self._close.begin
        for (code, offset, running), share in self._shares.items():
            self._count(running, code, offset, int(share * wall))
        return bool(self._shares)

    def _learn(self, close: Close) -> None:
        """A look sees a part of a step: the ones before count for half. Few places have most of the time."""
        walls = {place: wall for place, wall in close.walls().items() if place[2].package != OURS}
        seen, before = sum(walls.values()), self._shares
        if not seen:
            return
        new = {place: wall / seen for place, wall in walls.items()}
        if before:
            new = {place: (new.get(place, 0.0) + before.get(place, 0.0)) / 2 for place in {**new, **before}}
        dearest = sorted(new, key=lambda place: -new[place])[:_DEAREST]
        self._shares = {place: new[place] for place in dearest}

    def remove(self) -> None:
        if self._close is not None:
            self._close.stop()
        super().remove()

    def _look_at(self, frame: FrameType | None, wall: int) -> None:
        """Another thread: if TensorFlow has called back into Python there, the function that it called."""
        found, called_back = None, False
        while frame is not None:
            file = frame.f_code.co_filename
            if not self.kit.places.is_library(file):
                found = frame
            elif file.endswith("script_ops.py"):
                called_back = True
            frame = frame.f_back
        if found is not None and called_back:
            self.kit.tallies.at(TALLY_WHERE_CALLED_BACK, found.f_code.co_name, found.f_code, 0, wall, 0)

    def _users(self, frame: FrameType | None) -> tuple[FrameType | None, str, str]:
        """Find the innermost frame of the user's, and the function that its line called, with its module."""
        callee = called_module = ""
        while frame is not None:
            if not self.kit.places.is_library(frame.f_code.co_filename):
                return frame, callee, called_module
            module = str(frame.f_globals.get("__name__") or "")
            if not module.startswith(OURS) and frame.f_code.co_name not in STAND_FOR_OTHERS:
                callee, called_module = frame.f_code.co_name, module
            frame = frame.f_back
        return None, "", ""

    def _gives_each(self, user: FrameType) -> tuple[FrameType, Running] | None:
        """The line of the user's that gives each item to this function of theirs by a function of NumPy's."""
        frame, name = user.f_back, ""
        for _ in range(_NEAR):
            if frame is None:
                return None
            if not self.kit.places.is_library(frame.f_code.co_filename):
                return (frame, Running(PACKAGE_NUMPY, name, PACKAGE_NUMPY)) if name else None
            if frame.f_code.co_name in _EACH and not name:
                name = frame.f_code.co_name
            frame = frame.f_back
        return None


def _package(frame: FrameType, user: FrameType) -> str:
    """Whose code runs: `user` is Python of the user's own, or C that it called directly."""
    at: FrameType | None = frame
    while at is not None and at is not user:
        name = str(at.f_globals.get("__name__") or "").partition(".")[0]
        if name != OURS:
            return name or PACKAGE_UNKNOWN
        at = at.f_back
    return PACKAGE_USER
