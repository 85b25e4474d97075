"""Samples the main thread ten times a second: which line of the user's code, and what runs there.

Looking at one frame per tick costs microseconds, so it is always on. It sees what no other hook does: time
outside TensorFlow. Where samples would be biased towards calls of TensorFlow's, a profile burst says how to
divide the time among the lines.
"""

from __future__ import annotations

import re
import sys
import threading
from types import CodeType, FrameType

from ..code.source_lines import source_line
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
from .context import HookContext
from .profile_burst import OURS, OWN, STAND_FOR_OTHERS, ActiveLine, ProfileBurst, Running

#: A late tick stands for the time since the last one, but for no more than this.
_MOST = 1_000_000_000
#: Nanoseconds after which Python takes the interpreter from a thread that does not release it.
_TAKEN = 5_000_000
#: Nanoseconds between two bursts, for the first ones and later; lines that are kept of one.
_EARLY, _PAUSE = 500_000_000, 4_000_000_000
_FIRST = 6
_MOST_LINES = 24
#: A line that writes through C that it calls directly: no other frame shows it.
_WRITING = re.compile(
    r"\b(?:print|write|writelines|writerows?|fsync|flush|dump)\(|\bopen\([^)]*[\"'][wax]b?\+?t?[\"']"
)
_WRITES = Running(PACKAGE_USER, CALLEE_WRITE, MODULE_FILE)
#: A line that joins an array and more into a new array of the same name.
_JOINING = re.compile(
    r"(?<![\w.\]])(?P<name>[A-Za-z_][\w.]*(?:\[\w+\])?)\s*=[^=].*?"
    r"\b(?:append|concat|concatenate|vstack|hstack|dstack|stack|column_stack|row_stack|insert|resize|r_|c_)\s*[(\[]"
    r".*(?<![\w.])(?P=name)(?![\w.(\[])",
    re.S,
)
_JOINS = Running(PACKAGE_NUMPY, CALLEE_JOIN, PACKAGE_NUMPY)
#: Lines of a statement that are read at most.
_STATEMENT = 4
#: Functions of NumPy's that call the user's for each item.
_EACH = ("apply_along_axis", "_vectorize_call", "_vectorize_call_with_signature")
#: Frames between the user's function and one of those at most.
_NEAR = 8


class SamplerHook(Hook):
    title = "where the time goes"

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._main = threading.main_thread().ident
        self._last = 0
        self._burst: ProfileBurst | None = None
        self._bursts = self._next = 0
        self._shares: dict[ActiveLine, float] = {}
        """The shares of time by line where calls follow each other closely, as of the last burst."""
        self._meanings: dict[tuple[int, int], Running] = {}

    def tick(self, now: int) -> None:
        wall = min(now - self._last, _MOST) if self._last else 0
        self._last = now
        with uncollected():
            sample = self._sample(wall)
        if sample is not None and not self._is_biased(now, wall):
            self._count(*sample, wall)

    def _sample(self, wall: int) -> tuple[Running, CodeType, int] | None:
        """Find out where the main thread is, and what runs there."""
        frames = sys._current_frames()
        # Our own frame refers to this dict: left in it, the cycle would keep the program's frames alive.
        frames.pop(threading.get_ident(), None)
        frame = frames.pop(self._main or 0, None)
        if frame is None or not wall:
            return None
        for other in frames.values():
            self._sample_other_thread(other, wall)
        user, callee, module = self._user_line(frame)
        if user is None:
            return None
        if self.context.tracing.is_tracing(self._main or 0):
            running = Running(PACKAGE_TRACING, callee, module)
        elif (outer := self._applying_line(user)) is not None:
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
        self.context.tallies.at(TALLY_WHERE, details, code, offset, wall, 0)

    def _meaning(self, code: CodeType, offset: int) -> Running:
        """Find out what a line does through C that it calls."""
        known = self._meanings.get((id(code), offset))
        if known is None:
            file, line = line_of(code, offset)
            first, *more = [source_line(file, line + i) for i in range(_STATEMENT)]
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

    def _is_biased(self, now: int, wall: int) -> bool:
        """Whether the sample is biased, because the thread had just released the interpreter; then count by
        bursts."""
        tracker, burst = self.context.tracker, self._burst
        if burst is not None and burst.over:
            self._learn(burst)
            self._burst = burst = None
        if now - tracker.seen > _TAKEN or self.context.tracing.is_tracing(self._main or 0):
            return False
        if burst is None and now >= self._next and tracker.errand is None:
            self._bursts += 1
            self._next = now + (_EARLY if self._bursts < _FIRST else _PAUSE)
            self._burst = ProfileBurst(tracker)
            tracker.errand = self._burst.begin
        for (code, offset, running), share in self._shares.items():
            self._count(running, code, offset, int(share * wall))
        return bool(self._shares)

    def _learn(self, burst: ProfileBurst) -> None:
        """Blend in a burst, which sees only part of a step: earlier ones count for half. Few lines have most
        of the time."""
        walls = {line: wall for line, wall in burst.walls().items() if line[2].package != OURS}
        seen, before = sum(walls.values()), self._shares
        if not seen:
            return
        new = {line: wall / seen for line, wall in walls.items()}
        if before:
            new = {line: (new.get(line, 0.0) + before.get(line, 0.0)) / 2 for line in {**new, **before}}
        heaviest = sorted(new, key=lambda line: -new[line])[:_MOST_LINES]
        self._shares = {line: new[line] for line in heaviest}

    def remove(self) -> None:
        if self._burst is not None:
            self._burst.stop()
        super().remove()

    def _sample_other_thread(self, frame: FrameType | None, wall: int) -> None:
        """Look at another thread: if TensorFlow has called back into Python there, count the function."""
        found, called_back = None, False
        while frame is not None:
            file = frame.f_code.co_filename
            if not self.context.ownership.is_library(file):
                found = frame
            elif file.endswith("script_ops.py"):
                called_back = True
            frame = frame.f_back
        if found is not None and called_back:
            self.context.tallies.at(TALLY_WHERE_CALLED_BACK, found.f_code.co_name, found.f_code, 0, wall, 0)

    def _user_line(self, frame: FrameType | None) -> tuple[FrameType | None, str, str]:
        """Find the innermost frame of the user's, and the function that its line called, with its module."""
        callee = called_module = ""
        while frame is not None:
            if not self.context.ownership.is_library(frame.f_code.co_filename):
                return frame, callee, called_module
            module = str(frame.f_globals.get("__name__") or "")
            if not module.startswith(OURS) and frame.f_code.co_name not in STAND_FOR_OTHERS:
                callee, called_module = frame.f_code.co_name, module
            frame = frame.f_back
        return None, "", ""

    def _applying_line(self, user: FrameType) -> tuple[FrameType, Running] | None:
        """Find the user's line that applies this function of theirs to each item through NumPy."""
        frame, name = user.f_back, ""
        for _ in range(_NEAR):
            if frame is None:
                return None
            if not self.context.ownership.is_library(frame.f_code.co_filename):
                return (frame, Running(PACKAGE_NUMPY, name, PACKAGE_NUMPY)) if name else None
            if frame.f_code.co_name in _EACH and not name:
                name = frame.f_code.co_name
            frame = frame.f_back
        return None


def _package(frame: FrameType, user: FrameType) -> str:
    """Name the package whose code runs; PACKAGE_USER for the user's Python, or C that it called directly."""
    at: FrameType | None = frame
    while at is not None and at is not user:
        name = str(at.f_globals.get("__name__") or "").partition(".")[0]
        if name != OURS:
            return name or PACKAGE_UNKNOWN
        at = at.f_back
    return PACKAGE_USER
