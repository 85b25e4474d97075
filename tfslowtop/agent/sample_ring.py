"""A preallocated ring of samples, written without a lock on the hot path.

One thread writes, one reads. The writer packs a record with one C call and then moves `head`; under the GIL
both are atomic, so the reader never sees a half-written record below `head`. The writer never waits: when it
laps the reader, the oldest records are lost and counted.
"""

from __future__ import annotations

from .protocol.events import SAMPLE

_SIZE = SAMPLE.size


class SampleRing:
    __slots__ = ("_buffer", "_mask", "_pack", "head", "lost", "tail")

    def __init__(self, capacity: int = 1 << 15) -> None:
        if capacity & (capacity - 1):
            raise ValueError("the capacity of a ring is a power of two")
        self._buffer = bytearray(capacity * _SIZE)
        self._mask = capacity - 1
        self._pack = SAMPLE.pack_into
        self.head = 0
        self.tail = 0
        self.lost = 0

    def put(self, start: int, wall: int, cpu: int) -> None:
        head = self.head
        self._pack(self._buffer, (head & self._mask) * _SIZE, start, wall, cpu)
        self.head = head + 1

    def drain(self, head: int, limit: int) -> tuple[int, bytes]:
        """Return the number of the oldest unread record and up to `limit` records before `head`, packed."""
        readable = self._mask  # all but one slot: the writer may be in the middle of it
        behind = head - self.tail - readable
        if behind > 0:
            self.lost += behind
            self.tail += behind
        first, last = self.tail, min(head, self.tail + limit)
        a, b = first & self._mask, last & self._mask
        if first == last:
            packed = b""
        elif a < b:
            packed = bytes(self._buffer[a * _SIZE : b * _SIZE])
        else:
            packed = bytes(self._buffer[a * _SIZE :] + self._buffer[: b * _SIZE])
        # The writer continued meanwhile: records that it has lapped by now may be torn, so they count as
        # lost.
        torn = min(max(self.head - first - readable, 0), last - first)
        self.lost += torn
        self.tail = last
        return first + torn, packed[torn * _SIZE :]
