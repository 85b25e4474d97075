"""Profiles some milliseconds of the main thread, where sampling from another thread is biased.

A thread that samples another one has to wait for the interpreter, and gets it where the other releases it:
inside a call of TensorFlow's. Lines that hold it for less than the 5 ms after which Python takes it away are
never seen. So where hooked calls follow each other that closely, the main thread profiles itself for some
milliseconds (`sys.setprofile`) and then removes the profiler.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..protocol.names import PACKAGE_UNKNOWN, PACKAGE_USER
from ..safety.signal_handlers import let_through
from ..steps.tracker import Tracker

#: The length of a burst at most: nanoseconds, and calls and returns, about a microsecond each.
_LONG = 10_000_000
_EVENTS = 2_000
#: Nanoseconds until the agent's thread, which requests the burst, is asleep again and out of the way.
_LATER = 30_000_000
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


#: The user's own Python, or C that it called directly.
OWN = Running(PACKAGE_USER)
_WRAPPER = Running(OURS)

#: Code, offset of the instruction, what ran there.
ActiveLine = tuple[CodeType, int, Running]
#: The same with the code by its id, which is faster to look up.
_Key = tuple[int, int, Running]


class ProfileBurst:
    """One burst. `begin` runs on the main thread; `walls()` is complete when it is `over`."""

    def __init__(self, tracker: Tracker) -> None:
        self.over = False
        self._tracker = tracker
        self._from = time.perf_counter_ns() + _LATER
        self._walls: defaultdict[_Key, list[int]] = defaultdict(lambda: [0, 0])
        """Nanoseconds, and how many pieces they came in."""
        self._pieces: list[int] = []
        self._codes: dict[int, CodeType] = {}
        self._is_library = tracker.ownership.is_library
        self._until = self._last = 0
        self._left = _EVENTS
        self._below = 0
        """Library frames inside the user's innermost frame."""
        self._code: CodeType | None = None
        self._offset = 0
        self._running = OWN
        self._named = 0
        """The depth of the library function that names what runs."""
        self._callers: list[tuple[CodeType, int, int, Running]] = []
        """The user's functions that wait for the innermost one, with their state."""

    def begin(self, frame: FrameType | None = None) -> None:
        """Begin at a hooked call, or at a later one while the agent's own thread is still busy."""
        if time.perf_counter_ns() < self._from:
            self._tracker.errand = self.begin
            return
        if sys.getprofile() is not None or not self._stand(sys._getframe()):
            self.over = True  # another profiler is active, or no code of the user's runs
            return
        self._last = time.perf_counter_ns()
        self._until = self._last + _LONG
        sys.setprofile(self._on_event)

    def walls(self) -> dict[ActiveLine, int]:
        """Return nanoseconds by line, without the profiler's own cost, which is most of a short call."""
        overhead = sorted(self._pieces)[len(self._pieces) // 4] if self._pieces else 0
        return {
            (self._codes[code], offset, running): max(0, wall - overhead * times)
            for (code, offset, running), (wall, times) in self._walls.items()
        }

    def _stand(self, frame: FrameType | None) -> bool:
        """Find the innermost frame of the user's, and count the library frames inside it."""
        self._callers.clear()
        self._below, self._running = 0, OWN
        while frame is not None and self._is_library(frame.f_code.co_filename):
            self._below += 1
            self._running = _running(frame)
            frame = frame.f_back
        if frame is None:
            return False
        self._code, self._offset = frame.f_code, frame.f_lasti
        self._codes[id(frame.f_code)] = frame.f_code
        return True

    def _on_event(self, frame: FrameType, event: str, arg: Any) -> None:
        now = time.perf_counter_ns()
        try:
            if self._code is not None:
                piece, wall = now - self._last, self._walls[id(self._code), self._offset, self._running]
                wall[0] += piece
                wall[1] += 1
                self._pieces.append(piece)
            if event == "call":
                self._enter(frame)
            elif event == "return":
                self._leave(frame.f_back)
            elif not self._below:
                self._offset = frame.f_lasti
            self._left -= 1
            if now > self._until or not self._left:
                self._end()
        except Exception as error:
            self._end()
            let_through(error)
        self._last = time.perf_counter_ns()

    def _enter(self, frame: FrameType) -> None:
        if self._is_library(frame.f_code.co_filename):
            if not self._below and frame.f_back is not None:
                self._offset = frame.f_back.f_lasti
            self._below += 1
            if self._below == 1 or self._running.package == OURS:
                self._running, self._named = _running(frame), self._below
        else:
            if self._code is not None:
                offset = self._offset if self._below or frame.f_back is None else frame.f_back.f_lasti
                self._callers.append((self._code, offset, self._below, self._running))
            self._code, self._offset, self._below, self._running = frame.f_code, 0, 0, OWN
            self._codes[id(frame.f_code)] = frame.f_code

    def _leave(self, back: FrameType | None) -> None:
        if self._below:
            self._below -= 1
            if not self._below:
                self._running = OWN
            elif self._below < self._named:
                self._running = _WRAPPER  # the named function is over; what only passed the call on continues
        elif self._callers:
            self._code, self._offset, self._below, self._running = self._callers.pop()
        elif not self._stand(back):
            self._end()  # the program is ending

    def stop(self) -> None:
        """End at the next call, from any thread."""
        self._left = 1

    def _end(self) -> None:
        sys.setprofile(None)
        self.over = True


def _running(frame: FrameType) -> Running:
    """Describe what runs in a library's frame; `_WRAPPER` for what only passes the call on."""
    module, name = str(frame.f_globals.get("__name__") or PACKAGE_UNKNOWN), frame.f_code.co_name
    package = module.partition(".")[0]
    return _WRAPPER if package == OURS or name in STAND_FOR_OTHERS else Running(package, name, module)
