"""Looking at the frames of another thread, safely."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Python 3.11 makes the object of a frame when it is asked for, and may collect garbage while it does so. A
#: collection runs Python, which lets the other thread go on and end that very frame: the interpreter crashed.
#: Before, frames were always objects; since, garbage is collected between two instructions only.
_LAZY = sys.version_info[:2] == (3, 11)


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection meanwhile, as `sys._current_frames` itself does it."""
    collects = _LAZY and gc.isenabled()
    if collects:
        gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
