"""What happens when the program forks: its child is not watched, and fork does not warn of our thread.

From Python 3.12 on, a fork warns when there are other threads. In a program that has none of its own, our
thread would make that warning, so it is not there while such a program forks. The real TensorFlow has threads
from its first op on: then nothing is changed by ours.
"""

from __future__ import annotations

import functools
import os
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from .agent import Agent

#: Seconds to wait until a thread that has ended is gone for the system too.
_PATIENCE = 0.1

_resting: list[Agent] = []
_begin_again: Any = None


def around_forks(agent: Agent, in_child: Callable[[], None]) -> None:
    """Handlers cannot be taken back, so these keep nothing alive; `in_child` is a method."""
    watched, child = weakref.ref(agent), weakref.WeakMethod(in_child)

    def before() -> None:
        agent = watched()
        if agent is None or not agent.channel.alive or _threads() != 2:
            return
        try:
            _prepare()
        except Exception:
            return  # no way to begin again afterwards: rather one warning too many
        if agent.rest():
            _resting.append(agent)
            deadline = time.monotonic() + _PATIENCE
            while _threads() != 1 and time.monotonic() < deadline:
                time.sleep(0.0002)

    def after_in_child() -> None:
        _resting.clear()
        method = child()
        if method is not None:
            method()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_in_child)
        if sys.version_info >= (3, 12):
            os.register_at_fork(before=before)


def _threads() -> int:
    """How many this process has, or 0 where that cannot be told."""
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208  as cheap as it gets
    except OSError:
        return 0


def _prepare() -> None:
    """Some versions of Python count the threads after all handlers, so our thread begins when fork returns.

    A call that is pending is made between two bytecodes: therefore no Python function may be the handler.
    """
    global _begin_again
    if _begin_again is None:
        import ctypes  # rarely needed

        _begin_again = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_forked)
        later = functools.partial(ctypes.pythonapi.Py_AddPendingCall, _begin_again, None)
        os.register_at_fork(after_in_parent=later)


def _forked(_: object) -> int:
    while _resting:
        _resting.pop().start()
    return 0
