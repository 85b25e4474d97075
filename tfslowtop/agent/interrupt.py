"""Something to do on the main thread of a program that makes no call which a hook has wrapped.

Python is asked to do it between two instructions, as it does for a signal's handler; but no signal is sent,
so nothing that the program waits for is interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interrupt:
    """Calls `action` on the main thread, with the frame that is interrupted."""

    def __init__(self, action: Callable[[FrameType | None], None]) -> None:
        self._action = action
        self._asked = False
        self._call: Any = None

    def ask(self) -> None:
        """From any thread. Nothing is asked twice: a call into C may keep the main thread for long."""
        if self._asked:
            return
        import ctypes  # only here: the programs that need it have NumPy, which has loaded most of it

        if self._call is None:
            self._call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._now)
        self._asked = True  # before: it may be done before this comes back
        if ctypes.pythonapi.Py_AddPendingCall(self._call, None):
            self._asked = False  # too many wait already

    def _now(self, _: Any) -> int:
        self._asked = False
        try:
            self._action(sys._getframe().f_back)
        except Exception:
            pass  # it has nobody to tell: whoever asks sees that nothing came
        return 0
