"""Something to do on the main thread of a program that makes no call which a hook has wrapped.

Python is asked to do it between two instructions, as it does for a signal's handler; but no signal is sent,
so nothing that the program waits for is interrupted. What it is asked for is whether an object is true: of
the functions that Python itself has, that one takes an object, runs Python code, says by 0 that all is well,
and lets an error through.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


class Interrupt:
    """Calls `action` on the main thread, with the frame that is interrupted."""

    def __init__(self, action: Callable[[FrameType | None], None]) -> None:
        self._action = action
        self._asked = False

    def ask(self) -> None:
        """From any thread. Nothing is asked twice: a call into C may keep the main thread for long."""
        if self._asked:
            return
        import ctypes  # only here: the programs that need it have NumPy, which has loaded most of it

        self._asked = True  # before: it may be done before this comes back
        api = ctypes.pythonapi
        if api.Py_AddPendingCall(api.PyObject_IsTrue, ctypes.py_object(self)):
            self._asked = False  # too many wait already

    def __bool__(self) -> bool:
        """Not for us to call."""
        self._asked = False
        self._action(sys._getframe().f_back)
        return False
