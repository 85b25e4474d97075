"""Protects calls that Python makes where it ignores exceptions: around a fork, at exit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller
from sys import is_finalizing  # now, because the program may replace it in `sys`
from types import FrameType

from .interrupt import Interrupt
from .signal_handlers import raised_by_handler

#: How often an action is restarted that a handler has interrupted.
_TRIES = 10


class Shield:
    """`action` in a form that Python may call where it ignores exceptions: from outside, only C.

    What a handler raises meanwhile is held until the action is done, and raised again by `raise_held`, which
    is requested when the call is over. A plain function is not enough: a handler may run at its first
    instruction, which no `try` inside it covers. A generator that waits inside a `try` is covered from the
    moment it is resumed.
    """

    def __init__(self, action: Callable[[], object], *, asks: bool = True) -> None:
        """Without `asks`, the caller has to call `raise_held`."""
        self._action = action
        self._held: deque[BaseException] = deque()
        self._asks = asks
        self._later: dict[str, Callable[[], object]] = {}
        self._interrupt = Interrupt(self.raise_held)
        runs = self._run()
        next(runs)
        # The request comes from C after the generator has yielded; otherwise it would be granted inside it.
        requests = map(methodcaller("__call__"), iter(partial(self._later.pop, "request", int), None))
        self.call: Callable[[], object] = partial(next, zip(runs, requests, strict=False), None)

    def raise_held(self, frame: FrameType | None = None) -> None:
        """Raise what was held, on the main thread, in the program's own code."""
        if self._held:
            raise self._held.popleft()

    def _run(self) -> Iterator[None]:
        # Locals, because globals are gone while the interpreter shuts down.
        ended, most = is_finalizing, _TRIES
        caught: BaseException | None = None
        tries = 0
        while True:
            try:
                while True:  # inside another `try`, because a handler may also run where the loop jumps back
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
