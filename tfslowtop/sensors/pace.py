"""How often to read, so that reading stays cheap.

`Paced` is for one expensive reading: it waits at least its interval, and longer when the reading itself was
slow. `Budget` is for a whole loop: CPU time may be spent in a burst, but not on average.
"""

from __future__ import annotations


class Paced:
    """Decides when an expensive reading is due again.

    After a reading that took `cost` seconds the next one is at least `cost / share` away: a walk over the
    page tables of a 100 GB process must not hold that process's memory lock once a second.
    """

    __slots__ = ("_interval", "_next", "_share")

    def __init__(self, interval: float, share: float) -> None:
        self._interval = interval
        self._share = share
        self._next = float("-inf")

    def due(self, now: float) -> bool:
        return now >= self._next

    def done(self, now: float, cost: float) -> None:
        self._next = now + max(self._interval, cost / self._share)


class Backoff:
    """Decides when to retry after a failure: 1 s, 2 s, 4 s … up to `longest`."""

    __slots__ = ("_delay", "_first", "_longest", "_next")

    def __init__(self, first: float = 1.0, longest: float = 30.0) -> None:
        self._first = first
        self._longest = longest
        self._delay = first
        self._next = float("-inf")

    def due(self, now: float) -> bool:
        return now >= self._next

    def failed(self, now: float) -> None:
        self._next = now + self._delay
        self._delay = min(self._longest, self._delay * 2)

    def worked(self) -> None:
        self._delay = self._first
        self._next = float("-inf")


class Budget:
    """An allowance of CPU time: `share` of one core on average, saved up for at most `burst` seconds.

    Saving up lets one slow reading pass without a gap in the quick ones; a reading that is always slow uses
    up the savings and is then taken less often.
    """

    __slots__ = ("_at", "_most", "_saved", "_share")

    def __init__(self, share: float, now: float, burst: float = 10.0) -> None:
        self._share = share
        self._most = share * burst
        self._saved = self._most
        self._at = now

    def wait(self, now: float, spent: float) -> float:
        """Book `spent` seconds of CPU time; return how long to pause to keep the average."""
        self._saved = min(self._most, self._saved + (now - self._at) * self._share) - spent
        self._at = now
        return max(0.0, -self._saved / self._share)
