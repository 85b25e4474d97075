"""Samples from any number of threads, without a lock and without a cost of its own.

`put` is `list.extend` itself: one call into C that the GIL makes atomic, so writers on several threads
cannot tear or overwrite each other's records. Nothing that the garbage collector tracks stays alive, so the
collector runs as often as without us. The one reader takes what is there from the front.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

#: Records beyond this many are dropped by the reader, oldest first: it was kept from running for a very long
#: time.
CAPACITY = 1 << 20


class Buffer:
    """The same face to the sender as a `Ring`; `put((start, wall, cpu))` to the writers."""

    __slots__ = ("_data", "cpu", "longest", "lost", "put", "tail", "wall")

    def __init__(self) -> None:
        self._data: list[int] = []
        self.put: Callable[[Iterable[int]], None] = self._data.extend
        self.tail = 0
        self.lost = 0
        self.wall = 0
        """Sums over what was drained, so that nothing is summed on the hot path."""
        self.cpu = 0
        self.longest = 0

    @property
    def head(self) -> int:
        return self.tail + len(self._data) // 3

    def drain(self, head: int, limit: int) -> tuple[int, bytes]:
        """The number of the oldest unread record and up to `limit` records before `head`, as packed bytes."""
        data = self._data
        over = head - self.tail - CAPACITY
        if over > 0:
            del data[: 3 * over]
            self.lost += over
            self.tail += over
        first, count = self.tail, min(head - self.tail, limit)
        chunk = data[: 3 * count]
        del data[: 3 * count]
        self.tail += count
        walls = chunk[1::3]
        self.wall += sum(walls)
        self.longest = max(self.longest, max(walls, default=0))
        self.cpu += sum(chunk[2::3])
        return first, array("q", chunk).tobytes()

    def total_wall(self) -> int:
        """Including what waits to be drained."""
        return self.wall + sum(self._data[1::3])
