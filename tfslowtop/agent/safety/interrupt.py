"""Runs a function on the main thread without a hooked call.

`Py_AddPendingCall` runs it between two instructions, as Python does with a signal handler. No signal is sent,
so no system call of the program is interrupted. The C function passed to it is `PyObject_IsTrue`: it takes an
object, runs Python code (`__bool__`), returns 0 on success, and lets exceptions through.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from sys import _getframe, is_finalizing  # now, because the program may replace them in `sys`
from types import FrameType

from .signal_handlers import let_through

Action = Callable[["FrameType | None"], None]


def _nothing(frame: FrameType | None) -> None:
    pass


class Interrupt:
    """Calls `action` on the main thread, with the frame that it interrupts.

    Python may make the call as late as interpreter shutdown, when the globals of this module are gone. So the
    functions that `__bool__` needs are attributes of the class.
    """

    _is_finalizing = staticmethod(is_finalizing)
    _getframe = staticmethod(_getframe)
    _let_through = staticmethod(let_through)

    def __init__(self, action: Action) -> None:
        self._action = action
        self._asked = False
        self._request: Callable[[], object] | None = None

    def ask(self) -> None:
        """Request one call, from any thread; does nothing while an earlier request is still pending.

        The main thread may be inside a long call into C.
        """
        if self._asked:
            return
        self._asked = True  # first, because the call may be made before `request` returns
        if self.request():
            self._asked = False  # Python's queue of pending calls is full

    @property
    def request(self) -> Callable[[], object]:
        """`ask` as a callable that runs no Python code; its caller has to limit the number of requests."""
        if self._request is None:
            import ctypes  # only here: the programs that need it have NumPy, which has loaded most of it

            api, me = ctypes.pythonapi, ctypes.py_object(self)
            # A pending call borrows its argument, and may be made long after everything else of ours is gone:
            # the main thread can be inside C for hours. So this object is never freed.
            api.Py_IncRef(me)
            self._request = functools.partial(api.Py_AddPendingCall, api.PyObject_IsTrue, me)
        return self._request

    def close(self) -> None:
        """Drop the action: calls that are still pending do nothing."""
        self._action = _nothing

    def __bool__(self) -> bool:
        """Run the action; only Python calls this."""
        self._asked = False
        if self._is_finalizing():
            return False  # the action's globals may be gone, and the program's code is over
        try:
            self._action(self._getframe().f_back)
        except Exception as error:
            self._let_through(error)
        return False
