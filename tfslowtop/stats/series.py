"""A series of measurements in bounded memory, however long the run is.

Time is cut into bins of 50 ms, 200 ms, 800 ms and so on; each level keeps its newest 2048 bins, so the last
minutes are sharp and the last months are still there. A bin knows its count, smallest, largest and typical
value, so zooming out never hides a spike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .blocks import Floats, Ints, RecentRows
from .spread import BUCKETS, Spread, bucket_of

#: The finest bin, in ns: twenty per second are more than a screen shows.
BIN_NS = 50_000_000
#: Powers of four: the eleventh level has bins of 14.6 hours and reaches back 3.4 years.
LEVELS = 11
BINS = 2048
RAW = 8192

_SHIFTS: Ints = 2 * np.arange(LEVELS, dtype=np.int64)[:, None]


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve to draw: per column the smallest, typical and largest value; NaN where there is nothing.

    `mid` is the median of each 50 ms bin, averaged over the column with the counts as weights: one spike in a
    thousand calls moves `hi` but not `mid`. Column i begins at `start_ns + i * width_ns`.
    """

    start_ns: int
    width_ns: int
    lo: Floats
    mid: Floats
    hi: Floats


@dataclass(frozen=True, slots=True)
class _Groups:
    """What a batch holds for each 50 ms bin that it touches."""

    bins: Ints
    count: Floats
    middle: Floats
    smallest: Floats
    largest: Floats


def _group(times: Ints, values: Floats) -> _Groups:
    bins = times // BIN_NS
    # Sorted by bin, then by value: the ends of each run are its extremes and its centre is the median.
    order = np.lexsort((values, bins))
    bins, values = bins[order], values[order]
    first = np.concatenate(([0], np.flatnonzero(bins[1:] != bins[:-1]) + 1))
    end = np.concatenate((first[1:], [len(bins)]))
    middle = 0.5 * (values[(first + end - 1) // 2] + values[(first + end) // 2])
    return _Groups(
        bins=bins[first],
        count=(end - first).astype(np.float64),
        middle=middle,
        smallest=values[first],
        largest=values[end - 1],
    )


class Series:
    """One measured quantity over time. At most 1.1 MB, whatever the length, and much less at first: a level
    gets its bins as they are needed.

    NaN means "not known then" and leaves a gap. The spread covers everything since `mark`; all the rest
    covers everything since the beginning.
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        #: The newest known value; after folded samples, their median.
        self.last = float("nan")
        self.minimum = float("nan")
        self.maximum = float("nan")
        self._first_ns: int | None = None
        self._recent = RecentRows(RAW, np.int64, np.float64)
        self._newest: Ints = np.full((LEVELS, 1), -1, np.int64)
        self._allocate(np.ones((LEVELS, 1), np.int64))
        self.mark()

    def _allocate(self, room: Ints) -> None:
        """Allocate `room` bins for each level, powers of two. All levels lie in one flat array each, so that
        one call updates every level."""
        cells = int(room.sum())
        self._room = room
        self._rows: Ints = np.cumsum(room, axis=0) - room
        self._owner: Ints = np.full(cells, -1, np.int64)
        self._count: Floats = np.zeros(cells)
        self._middle: Floats = np.zeros(cells)  # median times count, so that bins can be added up
        self._lo: Floats = np.full(cells, np.inf)
        self._hi: Floats = np.full(cells, -np.inf)

    def mark(self) -> None:
        """Restart the spread from here."""
        self._buckets: Floats = np.zeros(BUCKETS)
        self._zeros = 0.0
        self._marked_lo = float("inf")
        self._marked_hi = float("-inf")

    def add(self, times: Ints, values: Floats) -> None:
        """Add a batch: when each value began, in nanoseconds, and the values."""
        known = np.isfinite(values)
        if not known.all():
            times, values = times[known], values[known]
        if not len(values):
            return
        groups = _group(times, values)
        self._recent.push(times, values)
        self.last = float(values[-1])
        self._note(int(times.min()), len(values), float(values.sum()))
        self._note_range(float(groups.smallest.min()), float(groups.largest.max()))
        self._bucket(values, 1.0)
        self._scatter(groups)

    def add_folded(
        self,
        start_ns: int,
        end_ns: int,
        count: int,
        minimum: float,
        maximum: float,
        total: float,
        sketch: Sequence[float],
    ) -> None:
        """Add folded samples; `sketch` has values at evenly spaced ranks, smallest first.

        It is unknown when the extremes occurred, so every bin of the span shows them.
        """
        if count <= 0:
            return
        values = np.asarray(sketch if len(sketch) else (total / count,), np.float64)
        first, last = start_ns // BIN_NS, max(start_ns, end_ns) // BIN_NS
        bins = np.arange(max(first, last - BINS + 1), last + 1, dtype=np.int64)
        each = np.ones(len(bins))
        share = count / len(bins)
        middle = float(np.median(values))
        self.last = middle
        self._note(start_ns, count, total)
        self._note_range(minimum, maximum)
        self._bucket(values, count / len(values))
        self._scatter(_Groups(bins, share * each, middle * each, minimum * each, maximum * each))

    def _note(self, start_ns: int, count: int, total: float) -> None:
        self.count += count
        self.total += total
        self._first_ns = start_ns if self._first_ns is None else min(self._first_ns, start_ns)

    def _note_range(self, smallest: float, largest: float) -> None:
        # fmin and fmax ignore the NaN that stands for "nothing yet".
        self.minimum = float(np.fmin(self.minimum, smallest))
        self.maximum = float(np.fmax(self.maximum, largest))
        self._marked_lo = min(self._marked_lo, smallest)
        self._marked_hi = max(self._marked_hi, largest)

    def _bucket(self, values: Floats, weight: float) -> None:
        positive = values[values > 0.0]
        self._zeros += weight * (len(values) - len(positive))
        np.add.at(self._buckets, bucket_of(positive), weight)

    def _make_room(self) -> None:
        """Allocate bins for everything from the first value to the newest, as far as a level reaches."""
        oldest = ((self._first_ns or 0) // BIN_NS) >> _SHIFTS
        needed = np.clip(self._newest - oldest + 1, 1, BINS)
        if (needed <= self._room).all():
            return
        old = (self._owner, self._count, self._middle, self._lo, self._hi)
        level = np.repeat(np.arange(LEVELS), self._room[:, 0])
        room = 2 ** np.ceil(np.log2(needed)).astype(np.int64)
        self._allocate(np.maximum(self._room, room))
        used = np.flatnonzero(old[0] >= 0)
        # Bins that were distinct stay distinct: the new room is a multiple of the old.
        cells = self._cells(old[0][used], self._rows[level[used], 0], self._room[level[used], 0])
        for mine, was in zip((self._owner, self._count, self._middle, self._lo, self._hi), old, strict=True):
            mine[cells] = was[used]

    @staticmethod
    def _cells(bins: Ints, rows: Ints | int, room: Ints | int) -> Ints:
        cells: Ints = rows + (bins & (room - 1))
        return cells

    def _scatter(self, groups: _Groups) -> None:
        bins = groups.bins >> _SHIFTS
        np.maximum(self._newest, bins.max(axis=1, keepdims=True), out=self._newest)
        self._make_room()
        cells = self._cells(bins, self._rows, self._room)
        stale = self._owner[cells] != bins
        # What comes too late for a level is still in the coarser ones.
        alive = bins > self._newest - BINS
        stale &= alive
        fresh = cells[stale]
        self._owner[fresh] = bins[stale]
        self._count[fresh] = self._middle[fresh] = 0.0
        self._lo[fresh] = np.inf
        self._hi[fresh] = -np.inf
        if alive.all():
            flat, pick = cells.ravel(), np.tile(np.arange(len(groups.bins)), LEVELS)
        else:
            flat, pick = cells[alive], np.nonzero(alive)[1]
        np.add.at(self._count, flat, groups.count[pick])
        np.add.at(self._middle, flat, (groups.middle * groups.count)[pick])
        np.minimum.at(self._lo, flat, groups.smallest[pick])
        np.maximum.at(self._hi, flat, groups.largest[pick])

    def recent(self, n: int) -> Floats:
        """Return the newest `n` values as they came, oldest first. Folded samples are not among them."""
        return self._recent.last(n)[1]

    def recent_times(self, n: int) -> Ints:
        """Return when the values of `recent(n)` began."""
        return self._recent.last(n)[0]

    def spread(self) -> Spread:
        """Return the spread of everything since the mark, as of now."""
        return Spread(self._buckets.copy(), self._zeros, self._marked_lo, self._marked_hi)

    def _level(self, start_ns: int) -> int:
        """Return the finest level that still has everything since `start_ns`."""
        begin = max(start_ns, self._first_ns or 0) // BIN_NS
        for level in range(LEVELS - 1):
            if begin >> 2 * level > int(self._newest[level, 0]) - BINS:
                return level
        return LEVELS - 1

    def curve(self, start_ns: int, end_ns: int, columns: int) -> Curve:
        """Return the window from `start_ns` to `end_ns` in `columns` columns.

        Columns begin at multiples of their width, not at `start_ns`, so a bar keeps its samples while the
        window scrolls over them; the outer columns may reach a little beyond the window.
        """
        level = self._level(start_ns)
        bin_ns = BIN_NS << 2 * level
        width = max(1, -(-(end_ns - start_ns) // max(1, columns - 1)))
        if width >= 4 * bin_ns:
            # Whole bins per column: no column gets one bin more than its neighbour.
            width = -(-width // bin_ns) * bin_ns
        first = (end_ns - 1) // width - columns + 1
        origin = first * width
        lo, mid, hi = np.full(columns, np.inf), np.zeros(columns), np.full(columns, -np.inf)
        weight = np.zeros(columns)
        if width >= bin_ns:
            newest = int(self._newest[level, 0])
            oldest = max(min(start_ns, origin) // bin_ns, newest - BINS + 1, 0)
            bins = np.arange(oldest, min((end_ns - 1) // bin_ns, newest) + 1, dtype=np.int64)
            column = np.clip(bins * bin_ns // width - first, 0, columns - 1)
        else:
            column = np.arange(columns, dtype=np.int64)
            bins = (origin + column * width) // bin_ns
        cells = self._cells(bins, int(self._rows[level, 0]), int(self._room[level, 0]))
        held = self._owner[cells] == bins
        cells, column = cells[held], column[held]
        np.minimum.at(lo, column, self._lo[cells])
        np.maximum.at(hi, column, self._hi[cells])
        np.add.at(mid, column, self._middle[cells])
        np.add.at(weight, column, self._count[cells])
        nothing = weight == 0.0
        lo[nothing] = hi[nothing] = mid[nothing] = np.nan
        return Curve(origin, width, lo, mid / np.where(nothing, 1.0, weight), hi)
