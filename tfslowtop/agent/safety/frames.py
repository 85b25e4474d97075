"""Looks at the frames of another thread safely."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Python 3.11 creates a frame object when it is asked for, and may collect garbage while doing so. A
#: collection runs Python, which lets the other thread continue and end that very frame: the interpreter
#: crashed. Before 3.11, frames were always objects; since 3.12, garbage is collected between two instructions
#: only.
_LAZY = sys.version_info[:2] == (3, 11)


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the collector meanwhile, as `sys._current_frames` itself does."""
    collects = _LAZY and gc.isenabled()
    if collects:
        gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
