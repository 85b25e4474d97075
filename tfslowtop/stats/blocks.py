"""Samples of a stream in bounded memory, as evidence for a trend or an effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

#: Blocks that are kept and iterations in each: Theil–Sen takes milliseconds on that many medians.
MAX_BLOCKS = 120
PER_BLOCK = 64
#: Iterations that the tail keeps, thinned to at most 64 per twentieth of a second (in ns).
_TAIL = 8192
_TWENTIETH = 50_000_000
#: Pieces that wait to be joined: each is five objects, however few iterations it has.
_PARTS = 32


class RecentRows:
    """The newest `size` rows of a few columns, in order of arrival. Memory grows as rows come."""

    def __init__(self, size: int, *kinds: type[np.generic]) -> None:
        self._size = size
        self._room = 0
        self._columns: list[npt.NDArray[Any]] = [np.zeros(0, kind) for kind in kinds]
        self._pushed = 0

    def __len__(self) -> int:
        return min(self._pushed, self._size)

    def push(self, *columns: npt.NDArray[Any]) -> None:
        length = len(columns[0])
        if self._room < self._size and self._pushed + length > self._room:
            self._grow(self._pushed + length)
        kept = min(length, self._size)
        self._pushed += length
        begin = (self._pushed - kept) % self._size
        head = min(kept, self._size - begin)
        for mine, new in zip(self._columns, columns, strict=True):
            tail = new[length - kept :]
            mine[begin : begin + head] = tail[:head]
            mine[: kept - head] = tail[head:]

    def _grow(self, rows: int) -> None:
        # Until it has its full size nothing wraps around, so the rows stay where they are.
        self._room = min(self._size, max(2 * self._room, rows))
        for column in self._columns:
            column.resize(self._room, refcheck=False)  # no view of a column is ever handed out

    def last(self, n: int) -> list[npt.NDArray[Any]]:
        """Return copies of the newest `n` rows, oldest first, one array per column."""
        n = max(0, min(n, len(self)))
        begin = (self._pushed - n) % self._size
        head = min(n, self._size - begin)
        return [np.concatenate((c[begin : begin + head], c[: n - head])) for c in self._columns]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Iterations as columns: number, start in ns, wall time and CPU time in s (0 or NaN if not known)."""

    index: Floats
    start: Ints
    wall: Floats
    cpu: Floats

    def __len__(self) -> int:
        return len(self.wall)

    def pick(self, which: slice | Ints) -> Stretch:
        return Stretch(self.index[which], self.start[which], self.wall[which], self.cpu[which])

    def ordered(self) -> Stretch:
        """Sort by start, and number in that order.

        Iterations are numbered as they end, and in threads they overlap. Readers that go by number and
        readers that go by the clock must see the same order.
        """
        if (self.start[1:] >= self.start[:-1]).all() and (self.index[1:] >= self.index[:-1]).all():
            return self
        order = np.argsort(self.start, kind="stable")
        return Stretch(np.sort(self.index), self.start[order], self.wall[order], self.cpu[order])

    @property
    def span_ns(self) -> int:
        """Nanoseconds from the first start to the last; 0 if empty."""
        return int(self.start.max()) - int(self.start.min()) if len(self) else 0

    @property
    def end_ns(self) -> int:
        """When the last one ended, which need not be the one that began last. Needs at least one."""
        return int((self.start + 1e9 * self.wall).max())


class Blocks:
    """Every iteration of a stream in bounded memory, as evidence for a trend.

    All iterations are kept until there are 120 blocks of 64; from then on one of two, of four and so on, so
    that the median of a block stays unbiased. Which one is picked is scrambled: a program that does something
    else at every second iteration must not hide it.
    """

    def __init__(self, *, tail: bool = True) -> None:
        self._kept: list[Stretch] = []
        self._held = 0
        self._stride = 1
        self._seen = 0
        self._tail: RecentRows | None = None
        if tail:
            self.keep_tail()

    def keep_tail(self) -> None:
        """Keep the last seconds in more detail from now on, starting with what is there."""
        if self._tail is None:
            self._tail = RecentRows(_TAIL, np.float64, np.int64, np.float64, np.float64)
            self._push_tail(self._join())

    def add(self, new: Stretch) -> None:
        """Add iterations in the order of their ends; those of several threads begin in any order."""
        if not len(new):
            return
        self._push_tail(new)
        place = np.arange(self._seen, self._seen + len(new))
        self._seen += len(new)
        new = new.pick(
            np.flatnonzero(place % self._stride == _scrambled(place // self._stride, self._stride))
        )
        self._kept.append(new)
        self._held += len(new)
        if len(self._kept) > _PARTS:
            self._join()
        while self._held > MAX_BLOCKS * PER_BLOCK:
            whole = self._join()
            pairs = np.arange(len(whole) // 2)
            self._kept = [whole.pick(2 * pairs + _scrambled(pairs, 2))]
            self._held = len(pairs)
            self._stride *= 2

    def add_folded(
        self, first: int, count: int, start_ns: int, end_ns: int, cpu: float, sketch: Floats
    ) -> None:
        """Add folded iterations: wall times at even ranks, sorted, and their total CPU time."""
        n = min(count, len(sketch))
        if n <= 0:
            return
        # Sorted values in a row would look like a rise.
        order = np.random.default_rng(first).permutation(len(sketch))[:n]
        part = np.arange(n) / n
        start = start_ns + (part * max(0, end_ns - start_ns)).astype(np.int64)
        self.add(Stretch(first + part * count, start, sketch[order], np.full(n, cpu / count)))

    def stretch(self) -> Stretch:
        """Return what is kept of the whole run, in order of start."""
        return self._join()

    def tail(self) -> Stretch:
        """Return the last seconds in order of start, in more detail than `stretch` has after a long run."""
        return self._join() if self._tail is None else Stretch(*self._tail.last(_TAIL)).ordered()

    def _push_tail(self, new: Stretch) -> None:
        if self._tail is not None and len(new):
            # A second fills at most 1280 places, so the tail reaches back six seconds in any case.
            room = PER_BLOCK * (1 + new.span_ns // _TWENTIETH)
            thin = new.pick(slice(None, None, -(-len(new) // room)))
            self._tail.push(thin.index, thin.start, thin.wall, thin.cpu)

    def _join(self) -> Stretch:
        if len(self._kept) != 1:
            self._kept = [_concatenate(self._kept).ordered()]
        return self._kept[0]


def _concatenate(parts: Sequence[Stretch]) -> Stretch:
    none = Stretch(np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    parts = [none, *parts]
    return Stretch(
        np.concatenate([p.index for p in parts]),
        np.concatenate([p.start for p in parts]),
        np.concatenate([p.wall for p in parts]),
        np.concatenate([p.cpu for p in parts]),
    )


def _scrambled(number: Ints, below: int) -> Ints:
    """Map each number to a fixed one from 0 to `below`, without a pattern (Knuth's multiplicative hash)."""
    picked: Ints = ((number * 2654435761) >> 16) % below
    return picked
