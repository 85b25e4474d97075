"""Lets exceptions of signal handlers through: they belong to the program, even where our code runs.

Python runs a handler between two instructions of the main thread, whichever code is there. Where that code is
ours, a broad `except` must let the handler's exception through. In some places Python itself would discard
it: callbacks of the garbage collector and of weak references, finalizers, and what runs around a fork or at
exit. There, either only C runs, so that no handler can, or the call is `shielded`.
"""

from __future__ import annotations

import signal
from types import FrameType

_OURS = __name__.removesuffix(".safety.signal_handlers")


def raised_by_handler(error: BaseException) -> bool:
    """Whether an error from our code was raised by a signal handler of the program's."""
    entry = error.__traceback__
    while entry is not None:
        if _is_handler(entry.tb_frame):
            return True
        entry = entry.tb_next
    return False


def _is_handler(frame: FrameType) -> bool:
    if str(frame.f_globals.get("__name__")).startswith(_OURS):
        return False
    # A handler gets the frame that it interrupts, which is also the one that it returns to.
    interrupted, given = frame.f_back, list(frame.f_locals.values())
    given += [part for value in given if type(value) is tuple for part in value]
    if interrupted is not None and any(value is interrupted for value in given):
        return True
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return any(getattr(handler, "__code__", None) is frame.f_code for handler in handlers)


def let_through(error: BaseException) -> None:
    """Raise the error again, in an `except` block of ours, if it belongs to the program."""
    if raised_by_handler(error):
        raise error
