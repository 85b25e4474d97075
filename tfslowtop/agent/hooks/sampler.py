"""Samples the main thread twenty times a second: which line of the user's code, and what runs there.

Looking at one stack costs microseconds, so it is always on. It sees what no other hook does: time outside
TensorFlow. `safety.prompt_wake` sees to it that samples are not biased towards calls that release the
interpreter.
"""

from __future__ import annotations

import opcode
import re
import sys
import threading
import time
from types import CodeType, FrameType
from typing import NamedTuple

from ..code.source_lines import source_line
from ..protocol.names import (
    CALLEE_JOIN,
    CALLEE_WRITE,
    MODULE_FILE,
    PACKAGE_NUMPY,
    PACKAGE_TRACING,
    PACKAGE_UNKNOWN,
    PACKAGE_USER,
    STREAM_FUNCTION,
    TALLY_CALLBACK,
    TALLY_WHERE,
    TALLY_WHERE_CALLED_BACK,
)
from ..safety.frames import uncollected
from ..tallies import Details, line_of
from .context import HookContext

# Kept, because the program may replace them in `time`.
_now, _cpu_time = time.perf_counter_ns, time.clock_gettime_ns

OURS = __name__.partition(".")[0]
#: Functions that only pass the call on to what they wrap.
STAND_FOR_OTHERS = ("wrapper", "error_handler", "__call__")


class Running(NamedTuple):
    """What runs at a line of the user's: the function that the line called, or the line itself."""

    package: str
    callee: str = ""
    module: str = ""
    array: str = ""
    """The array that the line copies into a longer one."""
    inside: str = ""
    """The kind of the timed call around it, or what is being created."""
    native: bool = False
    """Whether it is compiled code that has released the interpreter."""


#: The user's own Python, or C that it called directly.
OWN = Running(PACKAGE_USER)

#: A late tick stands for the time since the last one, but for no more than this.
_MOST = 1_000_000_000
#: Nanoseconds for which a program counts as having several Python threads after the last sight of one.
_ALONE_AFTER = 2_000_000_000
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
#: Nanoseconds for which the main thread's CPU clock is watched, and those it has to advance meanwhile.
_WATCHED, _ADVANCED = 12_000, 9_000
#: Instructions within which Python never gives the interpreter away. Before 3.11 it may do so anywhere.
_OPERATORS = (
    {
        opcode.opmap[name]
        for name in ("BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "STORE_SUBSCR", "UNARY_NEGATIVE")
        if name in opcode.opmap
    }
    if sys.version_info >= (3, 11)
    else set()
)
#: Frames between the user's function and one of those at most.
_NEAR = 8


class Sampler:
    def __init__(self, context: HookContext) -> None:
        self.context = context
        self._main = context.main
        self._last = 0
        self._others_at = -_ALONE_AFTER
        """When another Python thread was last seen."""
        self.reported_until = 0
        """All that the main thread did until then is reported; a call in progress is when it ends."""
        self._meanings: dict[tuple[int, int], Running] = {}
        self._clock = _cpu_clock(self._main)
        """The clock of the main thread's CPU time; None where there is none."""

    def tick(self, now: int) -> None:
        wall = min(now - self._last, _MOST) if self._last else 0
        self._last = now
        with uncollected():
            sample = self._sample(now, wall)
        if sample is not None:
            self._count(*sample, wall)

    def is_only_thread(self, now: int) -> bool:
        """Whether the program runs Python on its main thread alone."""
        return now - max(self._others_at, self.context.called_back_at) > _ALONE_AFTER

    def _sample(self, now: int, wall: int) -> tuple[Running, CodeType, int] | None:
        """Find out where the main thread is, and what runs there."""
        frames = sys._current_frames()
        # Our own frame refers to this dict: left in it, the cycle would keep the program's frames alive.
        frames.pop(threading.get_ident(), None)
        frame = frames.pop(self._main, None)
        if frames:
            self._others_at = now
        if frame is None:
            return None
        inside = self._timed_call(frame)
        self.reported_until = min(now, self.context.tracker.seen or now) if inside else now
        if not wall:
            return None
        for other in frames.values():
            self._sample_other_thread(other, wall)
        user, callee, module = self._user_line(frame)
        if user is None:
            return None
        inside = inside or self._creation()
        if self.context.tracing.is_tracing(self._main):
            running = Running(PACKAGE_TRACING, callee, module, inside=STREAM_FUNCTION)
        elif (outer := self._applying_line(user)) is not None:
            user, running = outer
        else:
            running = Running(_package(frame, user), callee, module, inside=inside)
            if not inside:
                running = running._replace(native=self._is_native(frame))
        return running, user.f_code, user.f_lasti

    def _timed_call(self, frame: FrameType | None) -> str:
        """Return the kind of the outermost call around a frame that a hook times; empty if there is none."""
        found, timed = "", self.context.timed_calls
        while frame is not None:
            found = timed.get(id(frame.f_code), found)
            frame = frame.f_back
        return found

    def _is_native(self, frame: FrameType) -> bool:
        """Whether the main thread computes in compiled code although our thread has the interpreter.

        Then it is inside a loop of NumPy's or another library's over many items. Python code, and C code
        that handles a few objects, would have to wait. Python itself releases the interpreter only after
        calls and jumps: inside an operator, NumPy did. Otherwise the thread's CPU clock tells, unless all
        cores are busy.
        """
        if frame.f_code.co_code[frame.f_lasti] in _OPERATORS:
            return True
        if self._clock is None:
            return False
        before, end = _cpu_time(self._clock), _now() + _WATCHED
        while _now() < end:
            pass
        return _cpu_time(self._clock) - before >= _ADVANCED

    def _creation(self) -> str:
        """Return what the main thread is creating, loading or saving; empty if nothing."""
        for what, thread in self.context.busy.copy():
            if thread == self._main and what != TALLY_CALLBACK:
                return what
        return ""

    def _count(self, running: Running, code: CodeType, offset: int, wall: int) -> None:
        own = running.package == PACKAGE_USER and not running.callee
        if own or running.package == PACKAGE_NUMPY:
            meaning = self._meaning(code, offset)
            if own or meaning not in (OWN, _WRITES):
                running = meaning._replace(inside=running.inside, native=running.native)
        first = code.co_firstlineno if code.co_name != "<module>" else 0
        details = Details(
            running.callee,
            running.package,
            running.module,
            first,
            running.array,
            inside=running.inside,
            native=running.native,
        )
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

    def _sample_other_thread(self, frame: FrameType | None, wall: int) -> None:
        """Look at another thread: if TensorFlow has called back into Python there, count the function.

        Where that function has called others of the user's, the innermost line is what takes the time.
        """
        found = innermost = None
        called_back = False
        while frame is not None:
            file = frame.f_code.co_filename
            if not self.context.ownership.is_library(file):
                found, innermost = frame, innermost or frame
            elif file.endswith("script_ops.py"):
                called_back = True
            frame = frame.f_back
        if found is not None and innermost is not None and called_back:
            code, offset = innermost.f_code, 0 if innermost is found else innermost.f_lasti
            self.context.tallies.at(TALLY_WHERE_CALLED_BACK, code.co_name, code, offset, wall, 0)

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


def _cpu_clock(thread: int | None) -> int | None:
    try:
        return time.pthread_getcpuclockid(thread) if thread else None
    except (AttributeError, OSError):
        return None
