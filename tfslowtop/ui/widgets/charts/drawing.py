"""Draws a curve as rows of characters. Pure: arrays in, text with roles out, nothing of the screen.

Three decisions shape it. The lower edge is zero and the upper bound is sticky, so noise looks flat and a
climb looks like a climb. A column keeps its minimum and maximum, so one slow call among a thousand stays
visible. The glyph says whatever the colour says. As a change of colour costs about 40 bytes on the wire, a
blank takes the colour of its neighbour, and a row that would alternate between colours gets only one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .scale import HUGE, TINY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mode = Literal["block", "braille", "ascii"]
Role = Literal["bar", "range", "mark", "ghost", "gap"]
Span = tuple[str, Role]
"""Characters of one role that follow each other."""
Row = list[Span]

ROLES: tuple[Role, ...] = ("gap", "bar", "range", "mark", "ghost")
_GAP, _BAR, _RANGE, _MARK, _GHOST = range(5)
_BLANK = ord(" ")
# With more spans in a row, ghost and range lose their colour (their glyphs still differ).
MAX_SPANS = 10
#: Values that may exceed all others without setting the scale: the first calls of tf.functions trace for
#: seconds ...
OUTLIERS = 6
#: ... and the share of the values that may, ...
_OUTLYING = 0.05
#: ... if they exceed the rest by this factor; less would cut the peaks of a curve that has none.
_FAR = 1.6
#: The share of columns up to which clipped maxima are marked.
_RARE = 0.25
#: The median of so many newest columns always fits: a level that stays is no outlier.
_NEWEST = 5


@dataclass(frozen=True, slots=True, eq=False)
class CurveData:
    """One value per column, oldest first; NaN in `mid` is a gap."""

    lo: Floats
    mid: Floats
    hi: Floats
    marks: tuple[int, ...] = ()
    """Columns in which a fix was toggled."""
    ghost: Floats | None = None
    """The baseline, column by column; NaN where there is none."""
    labels: tuple[str, ...] = ()
    """The label of each mark, where there is room."""
    filled: bool = False
    """Whether lines are filled down to zero: for levels and counts, as opposed to durations."""

    def key(self) -> tuple[object, ...]:
        """Return a key that is equal for equal pictures. It costs about a hundredth of drawing one."""
        ghost = None if self.ghost is None else self.ghost.tobytes()
        return self.lo.tobytes(), self.mid.tobytes(), self.hi.tobytes(), self.marks, self.labels, ghost

    @classmethod
    def of(cls, mid: Floats | list[float], marks: tuple[int, ...] = ()) -> CurveData:
        """Return columns that hold one value each."""
        values = np.asarray(mid, np.float64)
        return cls(values, values, values, marks)


@dataclass(frozen=True, slots=True)
class _Glyphs:
    bar: NDArray[np.uint32]
    """Indexed by the number of eighths of the cell that are filled, 0 to 8."""
    span: NDArray[np.uint32]
    """The same for what lies between `mid` and `hi`: a thin line at its foot, then a shade."""
    ghost: int
    ghost_in_bar: int
    mark: int
    mark_level: int
    """Where the mark crosses the value of its own column."""
    beyond: int
    """The value is above the upper bound."""


def _glyphs(bar: str, span: str, rest: str) -> _Glyphs:
    bars, spans = (np.array([ord(c) for c in text], np.uint32) for text in (bar, span))
    return _Glyphs(bars, spans, *(ord(c) for c in rest))


_BLOCK = _glyphs(" ▁▂▃▄▅▆▇█", " ▁▁▁░░░░░", "·▓│┼▲")
_ASCII = _glyphs(" ...ooo##", " ...:::::", "-=|+^")
# Dots 1237 on the left and 4568 on the right, from the top, as Unicode numbers them.
_BRAILLE_BITS = np.array([[1, 8], [2, 16], [4, 32], [64, 128]], np.uint32).reshape(1, 4, 1, 2)
_BRAILLE = 0x2800


def columns_per_cell(mode: Mode) -> int:
    """Return how many columns of data one character shows."""
    return 2 if mode == "braille" else 1


def fit(data: CurveData, columns: int) -> CurveData:
    """Return the newest columns; where there are too few, gaps at the left."""
    have = len(data.mid)
    shift = columns - have
    if shift == 0 and all(0 <= mark < columns for mark in data.marks):
        return data

    def fitted(values: Floats) -> Floats:
        if shift < 0:
            return values[have - columns :]
        return np.concatenate((np.full(shift, np.nan), values))

    kept = [k for k, mark in enumerate(data.marks) if 0 <= mark + shift < columns]
    return CurveData(
        fitted(data.lo),
        fitted(data.mid),
        fitted(data.hi),
        tuple(data.marks[k] + shift for k in kept),
        None if data.ghost is None else fitted(data.ghost),
        tuple(data.labels[k] for k in kept if k < len(data.labels)),
        data.filled,
    )


def peak(data: CurveData, outliers: int = 0) -> float:
    """Return the largest finite value that the scale has to hold; 0.0 where there is none.

    With `outliers` the typical values set the scale: that many of them, or 5 %, may exceed the top if they
    are far above the others (the first call of a tf.function traces for seconds), and maxima count up to 1.4
    times the highest typical value (a busy machine has one in every column). What exceeds the top is marked.
    """
    if not outliers:
        return _largest(data.hi, data.mid, data.ghost)
    typical = np.fmax(data.mid, data.ghost) if data.ghost is not None else data.mid
    known = typical[np.isfinite(typical)]
    values = np.sort(known)
    if len(values) > 2 * outliers:
        # A value is held until the next one comes: however long the first step lasted, it is one value.
        once = np.append(True, np.diff(known) != 0) | (known <= _FAR * np.median(known))
        values = np.sort(known[once])
    if len(values) > 2 * outliers:
        rest = values[-max(outliers, int(_OUTLYING * len(values))) - 1]
        if values[-1] > _FAR * rest > 0:
            values = values[values <= _FAR * rest]
            values = np.append(values, max(values[-1], np.median(known[-_NEWEST:])))
    top = max(0.0, float(values[-1])) if len(values) else 0.0
    return max(top, min(_largest(data.hi[typical <= top]), 1.4 * top))


def _largest(*arrays: Floats | None) -> float:
    values = np.concatenate([a[np.isfinite(a)] for a in arrays if a is not None])
    return max(0.0, float(values.max())) if len(values) else 0.0


def draw(
    data: CurveData, height: int, upper: float, mode: Mode = "block", *, labelled: bool = False
) -> list[Row]:
    """Return `height` rows from the top, each as spans that add up to one character per cell.

    If `labelled`, the labels of marks are written beside them into the first row.
    """
    if len(data.mid) % columns_per_cell(mode):
        data = fit(data, len(data.mid) + 1)
    if height <= 0 or not len(data.mid):
        return [[] for _ in range(max(0, height))]
    upper = min(max(upper, TINY), HUGE) if math.isfinite(upper) and upper > 0 else 1.0
    if mode == "braille":
        chars, roles = _draw_braille(data, height, upper)
    else:
        chars, roles = _draw_bars(data, height, upper, _ASCII if mode == "ascii" else _BLOCK)
    if labelled:
        cells = [mark // columns_per_cell(mode) for mark in data.marks]
        _write_labels(chars[0], roles[0], list(zip(cells, data.labels, strict=False)))
    return _spans(chars, roles)


def _write_labels(chars: NDArray[np.uint32], roles: NDArray[np.uint8], labels: list[tuple[int, str]]) -> None:
    """Write each label at the right of its mark, or at the left if it does not fit there."""
    for cell, label in labels:
        size = len(label)
        for start in (cell + 1, cell - size):
            place = slice(start, start + size)
            free = start >= 0 and start + size <= len(chars) and not (roles[place] == _MARK).any()
            if 0 <= cell < len(chars) and free:
                chars[place], roles[place] = [ord(c) for c in label], _MARK
                break


def _levels(values: Floats, upper: float, steps: int) -> Ints:
    """Scale values to 0 to `steps`, rounded so that noise below half a step does not show. NaN becomes 0."""
    # fmax prefers the number to NaN; bounded before it is scaled, nothing can overflow.
    return np.rint(np.minimum(np.fmax(values, 0.0), upper) * (steps / upper)).astype(np.int64)


def _bounds(data: CurveData) -> tuple[Floats, Floats]:
    """Return `lo` and `hi`, replaced by `mid` where they are missing or on the wrong side of it."""
    known = ~np.isnan(data.mid)
    return (
        np.where(known, np.fmin(data.lo, data.mid), np.nan),
        np.where(known, np.fmax(data.hi, data.mid), np.nan),
    )


def _is_beyond(mid: Floats, hi: Floats, upper: float) -> NDArray[np.bool_]:
    """Return the columns to mark as clipped: of maxima only if they are rare, or the mark says nothing."""
    beyond: NDArray[np.bool_] = hi > upper
    rare = beyond.sum() <= _RARE * max(1, np.isfinite(hi).sum())
    return beyond if rare else mid > upper


Grid = tuple[NDArray[np.uint32], NDArray[np.uint8]]
"""Code points and role numbers, by row from the top and by cell."""


def _draw_bars(data: CurveData, height: int, upper: float, glyphs: _Glyphs) -> Grid:
    steps = 8 * height
    known = ~np.isnan(data.mid)
    _, hi = _bounds(data)
    # A value of zero keeps one eighth, to differ from a gap.
    mid_level = np.where(known, np.maximum(_levels(data.mid, upper, steps), 1), 0)
    hi_level = np.where(known, np.maximum(_levels(hi, upper, steps), mid_level), 0)
    foot = (8 * np.arange(height - 1, -1, -1))[:, None]
    filled = np.minimum(np.maximum(mid_level - foot, 0), 8)
    spanned = np.minimum(np.maximum(hi_level - foot, 0), 8)
    # The cell with the top of the bar shows the range instead if that covers half a cell or more.
    in_bar = (filled > 0) & (spanned - filled < 4)
    chars = np.where(in_bar, glyphs.bar[filled], glyphs.span[spanned])
    roles = np.where(in_bar, np.uint8(_BAR), (spanned > 0) * np.uint8(_RANGE))
    if data.ghost is not None:
        level = np.maximum(_levels(data.ghost, upper, steps), 1)
        here = (foot < level) & (level <= foot + 8) & ~np.isnan(data.ghost)
        free = here & (chars == _BLANK)
        chars[free], roles[free] = glyphs.ghost, _GHOST
        # Inside the bars every other cell is notched: a dotted line that needs no colour.
        chars[here & (filled == 8) & (np.arange(len(known)) % 2 == 0)] = glyphs.ghost_in_bar
    chars[0, _is_beyond(data.mid, hi, upper)] = glyphs.beyond
    for column in data.marks:
        if 0 <= column < len(known):
            chars[:, column], roles[:, column] = glyphs.mark, _MARK
            if known[column]:
                chars[height - 1 - (hi_level[column] - 1) // 8, column] = glyphs.mark_level
    return chars, roles


def _draw_braille(data: CurveData, height: int, upper: float) -> Grid:
    top = 4 * height - 1
    known = ~np.isnan(data.mid)
    lo, hi = _bounds(data)
    mid_level = _levels(data.mid, upper, top)
    first, last = _levels(lo, upper, top), _levels(hi, upper, top)
    # Reach half-way to the neighbour on the left, so that a steep line has no holes.
    foot, head = mid_level.copy(), mid_level.copy()
    before, joined = mid_level[:-1], known[:-1] & known[1:]
    foot[1:] = np.where(joined, np.minimum(foot[1:], before + 1), foot[1:])
    head[1:] = np.where(joined, np.maximum(head[1:], before - 1), head[1:])
    dots = np.arange(top, -1, -1)[:, None]
    inked = (dots >= (0 if data.filled else foot)) & (dots <= head)
    # The band from the smallest to the largest: every other row of dots, which does not flicker in a scroll.
    band = (dots >= first) & (dots <= last) & (dots % 2 == 0)
    line = _cells((inked | band) & known)
    chars = np.where(line > 0, _BRAILLE + line, _BLANK).astype(np.uint32)
    roles = np.where(line > 0, _RANGE, _GAP).astype(np.uint8)
    roles[_cells(inked & known) > 0] = _BAR
    if data.ghost is not None:
        # One dot per cell against the line's two: dotted, not solid.
        seen = ~np.isnan(data.ghost) & (np.arange(len(known)) % 2 == 0)
        dotted = _cells((dots == _levels(data.ghost, upper, top)) & seen)
        free = (dotted > 0) & (line == 0)
        chars[free], roles[free] = _BRAILLE + dotted[free], _GHOST
    chars[0, np.flatnonzero(_is_beyond(data.mid, hi, upper)) // 2] = _BLOCK.beyond
    for column in data.marks:
        if 0 <= column < len(known):
            cell = column // 2
            chars[:, cell], roles[:, cell] = _BLOCK.mark, _MARK
            if known[column]:
                chars[(top - _levels(hi, upper, top)[column]) // 4, cell] = _BLOCK.mark_level
    return chars, roles


def _cells(dots: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Combine four rows and two columns of dots into one character each."""
    height, width = dots.shape[0] // 4, dots.shape[1] // 2
    cells: NDArray[np.uint32] = (dots.reshape(height, 4, width, 2) * _BRAILLE_BITS).sum(axis=(1, 3))
    return cells


def _spans(chars: NDArray[np.uint32], roles: NDArray[np.uint8]) -> list[Row]:
    """Combine cells into spans. A blank joins the span on its left, or at the very left the first one."""
    inked = chars != _BLANK
    cell = np.where(inked, np.arange(chars.shape[1]), 0)
    source = np.maximum(np.maximum.accumulate(cell, axis=1), inked.argmax(axis=1)[:, None])
    roles = roles[np.arange(len(roles))[:, None], source]
    rows = []
    for codes, row in zip(chars.astype("<u4"), roles, strict=True):
        text = codes.tobytes().decode("utf-32-le")
        cuts = (row[1:] != row[:-1]).nonzero()[0]
        if len(cuts) >= MAX_SPANS:
            row[(row == _RANGE) | (row == _GHOST)] = _BAR
            cuts = (row[1:] != row[:-1]).nonzero()[0]
        edges = [0, *(cuts + 1).tolist(), len(text)]
        rows.append([(text[a:b], ROLES[row[a]]) for a, b in pairwise(edges)])
    return rows
