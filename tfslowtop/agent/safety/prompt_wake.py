"""Lets the agent's thread look at the program the moment it wakes, and not up to 5 ms later.

A thread that wakes has to wait for the interpreter, and gets it where the running thread releases it: inside
a call of TensorFlow's or NumPy's. Lines that hold it for less than the switch interval, 5 ms by default,
would never be seen, and samples would be biased towards such calls. So while our thread sleeps, and only
then, the interval is shorter. It has no effect until a second thread wants the interpreter.
"""

from __future__ import annotations

import sys

#: Seconds. With 100 µs, lines of 0.1 to 0.7 ms were off by 8 points in their share; with 10 µs by 4.
_SHORT = 1e-5
#: Python keeps whole microseconds, so that what is read back differs by less than one.
_RESOLUTION = 1e-6


class PromptWake:
    def __init__(self) -> None:
        self._before = 0.0
        """The program's own interval while ours is set."""

    def sleeping(self) -> None:
        """Shorten the interval, before our thread goes to sleep."""
        before = sys.getswitchinterval()
        if before > _SHORT + _RESOLUTION:
            self._before = before
            sys.setswitchinterval(_SHORT)

    def awake(self) -> None:
        """Restore the program's interval, unless the program has set another one meanwhile."""
        if self._before and abs(sys.getswitchinterval() - _SHORT) < _RESOLUTION:
            sys.setswitchinterval(self._before)
        self._before = 0.0
