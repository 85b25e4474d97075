"""Calls that Python makes where it ignores exceptions: around a fork, at exit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller
from sys import is_finalizing  # now, because the program may replace it in `sys`
from types import FrameType

from .interrupt import Interrupt
from .signal_handlers import raised_by_handler

#: How often an action is begun again that a handler has interrupted.
_TRIES = 10


class Shield:
    """`action` as something that Python may call where it ignores exceptions: C alone, seen from outside.

    What a handler raises meanwhile is held while the action is done all the same, and raised again by
    `raise_held`, which is asked for when the call is over. A plain function would not do: a handler may run
    at its first instruction, which no `try` inside it covers. A generator that waits inside a `try` is
    covered from the moment it is resumed.
    """

    def __init__(self, action: Callable[[], object], *, asks: bool = True) -> None:
        """Without `asks`, it is somebody else's to call `raise_held`."""
        self._action = action
        self._held: deque[BaseException] = deque()
        self._asks = asks
        self._later: dict[str, Callable[[], object]] = {}
        self._interrupt = Interrupt(self.raise_held)
        runs = self._run()
        next(runs)
        # The request comes after the generator has yielded, from C: else it would be granted inside of it.
        requests = map(methodcaller("__call__"), iter(partial(self._later.pop, "request", int), None))
        self.call: Callable[[], object] = partial(next, zip(runs, requests, strict=False), None)

    def raise_held(self, frame: FrameType | None = None) -> None:
        """On the main thread, in the program's own code."""
        if self._held:
            raise self._held.popleft()

    def _run(self) -> Iterator[None]:
        # Locals, because globals are gone while the interpreter shuts down.
        ended, most = is_finalizing, _TRIES
        caught: BaseException | None = None
        tries = 0
        while True:
            try:
                while True:  # inside another `try`, because a handler may also run where a loop goes back
                    try:
                        if ended() or caught is None or not self._hold(caught) or tries >= most:
                            tries = 0
                            caught = None
                            yield
                        tries += 1
                        if not ended():
                            self._action()
                        caught = None
                    except GeneratorExit:
                        return
                    except BaseException as error:
                        caught = error
            except BaseException as error:
                caught = error

    def _hold(self, error: BaseException) -> bool:
        """Whether a handler raised it; then the action is not done yet."""
        if isinstance(error, Exception) and not raised_by_handler(error):
            return False
        self._held.append(error)
        if self._asks:
            self._later["request"] = self._interrupt.request
        return True


def shielded(action: Callable[[], object]) -> Callable[[], object]:
    return Shield(action).call
