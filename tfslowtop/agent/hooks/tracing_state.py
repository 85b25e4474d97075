"""Knows which threads are tracing a function: what a thread does then is part of its trace."""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable


def eager() -> bool:
    """Whether ops run at once, as opposed to being added to a graph."""
    context = sys.modules.get("tensorflow.python.eager.context")
    return context is None or bool(context.executing_eagerly())


class Tracing:
    """The traces in progress, by thread.

    `any` is empty unless some thread traces, so a hook checks it first, which costs next to nothing, and only
    then asks `here` about its own thread.

    There is no lock, because a fork could leave it held. Each thread changes its own entries only, by
    operations that other threads cannot interrupt.
    """

    def __init__(self, is_eager: Callable[[], bool] = eager) -> None:
        self.any: list[int] = []
        """The threads that trace, once per function."""
        self._is_eager = is_eager
        self._stopped = False
        self._base = [0]
        self._bits: dict[int, list[int]] = {}
        """By thread: what the functions that it traces do, innermost last. The first entry stays, so that a
        thread that helps always finds a last one."""
        self._newest = self._base

    def here(self) -> list[int] | None:
        """Return what this thread's traces do, innermost last; None if nothing is traced here.

        A thread that builds a graph while another one traces helps that one: MirroredStrategy has a thread
        per replica. After `stop`, every thread counts as tracing.
        """
        bits = self._bits.get(get_ident())
        if bits is None and self.any and (self._stopped or not self._is_eager()):
            return self._newest
        return bits

    def is_tracing(self, thread: int) -> bool:
        return thread in self._bits

    def note(self, bits: int) -> None:
        """Record that the function being traced here does this."""
        here = self.here()
        if here is not None:
            here[-1] |= bits

    def begin(self) -> None:
        """Begin a trace on this thread."""
        thread = get_ident()
        self._newest = bits = self._bits.setdefault(thread, [0])
        bits.append(0)
        self.any.append(thread)

    def end(self) -> tuple[int, bool]:
        """End this thread's newest trace; return what it does, and whether it was part of another trace."""
        bits = self._bits.get(get_ident())
        if bits is None or not self.any:
            return 0, False
        self.any.pop()
        does = bits.pop()
        if len(bits) == 1:
            del self._bits[get_ident()]
            self._newest = [self._base, *self._bits.copy().values()][-1]
        around = None if self._stopped else self.here()
        if around is not None:
            around[-1] |= does
        return does, around is not None

    def stop(self) -> None:
        """Stop: a hook that still runs does nothing more."""
        self._stopped = True
        self.any.append(0)  # this entry is never removed
