"""Where the main thread is, ten times a second: which line of the user's code, and in what it is busy.

One look at one frame per tick costs microseconds, so it is always on. It sees what no other hook does: time
that is spent outside TensorFlow.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType

from ..kit import Kit
from .hook import Hook

#: A tick that came late stands for the time since the last one, but not for more than this.
_MOST = 1_000_000_000
_OURS = __name__.partition(".")[0]


class WhereHook(Hook):
    title = "where the time goes"

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._main = threading.main_thread().ident
        self._last = 0

    def tick(self, now: int) -> None:
        wall = min(now - self._last, _MOST) if self._last else 0
        self._last = now
        frames = sys._current_frames()
        # Our own frame refers to this dict: with ours in it, a cycle would keep the program's frames alive.
        frames.pop(threading.get_ident(), None)
        frame = frames.pop(self._main or 0, None)
        if frame is None or not wall:
            return
        for other in frames.values():
            self._look_at(other, wall)
        user, callee = self._users(frame)
        if user is None:
            return
        busy = "tracing" if self.kit.quiet[0] else _package(frame, user)
        self.kit.tallies.at("where", f"{busy}|{callee}", user.f_code, user.f_lasti, wall, 0)

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
            self.kit.tallies.at("where-called-back", found.f_code.co_name, found.f_code, 0, wall, 0)

    def _users(self, frame: FrameType | None) -> tuple[FrameType | None, str]:
        """The innermost frame of the user's, and the name of what its line called."""
        callee = ""
        while frame is not None:
            if not self.kit.places.is_library(frame.f_code.co_filename):
                return frame, callee
            ours = str(frame.f_globals.get("__name__") or "").startswith(_OURS)
            if not ours and frame.f_code.co_name not in ("wrapper", "error_handler", "__call__"):
                callee = frame.f_code.co_name
            frame = frame.f_back
        return None, ""


def _package(frame: FrameType, user: FrameType) -> str:
    """Whose code runs: `user` is Python of the user's own, or C that it called directly."""
    at: FrameType | None = frame
    while at is not None and at is not user:
        name = str(at.f_globals.get("__name__") or "").partition(".")[0]
        if name != _OURS:
            return name or "python"
        at = at.f_back
    return "user"
