"""A buffer for samples from any number of threads, without a lock.

`put` is `list.extend` itself: one call into C that the GIL makes atomic, so threads cannot tear or overwrite
each other's records. It keeps nothing alive that the garbage collector tracks, so the collector runs as often
as without us. There is one reader, which takes records from the front.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

#: The reader drops the oldest records beyond this many: it could not run for a very long time.
CAPACITY = 1 << 19


def _nowhere(record: Iterable[int]) -> None:
    pass


class SampleBuffer:
    """Like a `SampleRing` for the sender; writers call `put((start, wall, cpu))`."""

    __slots__ = ("_at", "_data", "_taken", "cpu", "longest", "lost", "put", "tail", "wall")

    def __init__(self) -> None:
        self._data: list[int] = []
        self._taken: list[int] = []
        """Records that the reader took out of `_data`, all at once: taking pieces from the front of a long
        list moves the rest each time, and a reader that is behind would not catch up."""
        self._at = 0
        """The position of the next one to drain."""
        self.put: Callable[[Iterable[int]], None] = self._data.extend
        self.tail = 0
        self.lost = 0
        self.wall = 0
        """Sums over drained records, so that nothing is summed on the hot path."""
        self.cpu = 0
        self.longest = 0

    @property
    def head(self) -> int:
        return self.tail + (len(self._taken) - self._at + len(self._data)) // 3

    def drain(self, head: int, limit: int) -> tuple[int, bytes]:
        """Return the number of the oldest unread record and up to `limit` records before `head`, packed."""
        if self._at == len(self._taken):
            self._take(head - self.tail)
        first = self.tail
        chunk = self._taken[self._at : self._at + 3 * min(head - self.tail, limit)]
        self._at += len(chunk)
        self.tail += len(chunk) // 3
        walls = chunk[1::3]
        self.wall += sum(walls)
        self.longest = max(self.longest, max(walls, default=0))
        self.cpu += sum(chunk[2::3])
        return first, array("q", chunk).tobytes()

    def _take(self, count: int) -> None:
        over = count - CAPACITY
        if over > 0:
            del self._data[: 3 * over]
            self.lost += over
            self.tail += over
            count = CAPACITY
        taken = self._data[: 3 * count]
        del self._data[: 3 * count]
        self._taken, self._at = taken, 0

    def discard(self) -> None:
        """Keep nothing from now on."""
        self.put = _nowhere
        self._data.clear()

    def total_wall(self) -> int:
        """Sum the wall times of all records, including those that wait to be drained."""
        return self.wall + sum(self._taken[self._at + 1 :: 3]) + sum(self._data[1::3])
