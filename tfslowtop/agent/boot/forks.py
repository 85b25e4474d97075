"""Handles forks: the child is not watched, and our thread causes no warning.

From Python 3.12 on, fork warns when there are other threads. In a program without threads of its own, ours
would cause that warning, so it is stopped while such a program forks. The real TensorFlow has threads from
its first op on; then nothing changes.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from collections.abc import Callable
from types import FrameType, MethodType

from ..safety.interrupt import Interrupt
from ..safety.shield import Shield, shielded
from ..sender import Agent

#: Seconds to wait until an ended thread is gone for the operating system too.
_PATIENCE = 0.1


def around_forks(agent: Agent, in_child: MethodType | Callable[[], None]) -> None:
    """Register the handlers. They cannot be removed, so they keep nothing alive; `in_child` is a method."""
    assert isinstance(in_child, MethodType)
    watched, owner, function = weakref.ref(agent), weakref.ref(in_child.__self__), in_child.__func__
    resting: list[Agent] = []

    def before() -> None:
        agent = watched()
        if agent is not None and agent.channel.alive and _threads() == 2 and agent.rest():
            resting.append(agent)
            deadline = time.monotonic() + _PATIENCE
            while _threads() != 1 and time.monotonic() < deadline:
                time.sleep(0.0002)

    rest = Shield(before, asks=False)

    def after(frame: FrameType | None) -> None:
        while resting:
            resting.pop().start()
        rest.raise_held()

    def after_in_child() -> None:
        resting.clear()
        attachment = owner()
        if attachment is not None:
            function(attachment)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=shielded(after_in_child))
        if sys.version_info >= (3, 12):
            # Some versions of Python count the threads after all handlers have run, so ours starts when fork
            # returns: a pending call runs between two instructions, so no Python code is needed here.
            os.register_at_fork(before=rest.call, after_in_parent=Interrupt(after).request)


def _threads() -> int:
    """Count the threads of this process; 0 where that is unknown."""
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208  as cheap as it gets
    except OSError:
        return 0
