"""Widgets that draw curves: `Plot` for a panel, `Chart` with axes for a screen of its own.

Built on `render_line`, so that a refresh costs what its changed rows cost. Textual rewrites a changed row as
a whole, whichever part of it was asked for, so rows are the unit of comparison and repainting.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from .axes import XAxis, nice_ticks, place_labels
from .drawing import CurveData, Mode, columns_per_cell, draw, fit, peak
from .scale import StickyScale

Line = Sequence[tuple[str, str]]
"""Texts with the last part of their component class, `curve--…`."""

_NOTHING = CurveData.of([])
#: Terminals without glyphs for braille.
_BLOCKS_ONLY = ("linux", "vt100", "vt220")


def curve_mode(*, ascii: bool) -> Mode:
    """Return the finest characters that the terminal has."""
    if ascii:
        return "ascii"
    return "block" if os.environ.get("TERM", "") in _BLOCKS_ONLY else "braille"


class Plot(Widget):
    """A scrolling curve that fills the widget, with the newest column at the right."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"curve--{role}" for role in ("bar", "range", "mark", "ghost", "gap", "axis", "label")
    }
    # Colour and text style only: a blank takes the style beside it, so a background would bleed.
    DEFAULT_CSS = """
    Plot { height: 3; }
    Plot > .curve--bar { color: $primary; }
    Plot > .curve--range { color: $primary 55%; }
    Plot > .curve--mark { color: $warning; text-style: bold; }
    Plot > .curve--ghost, Plot > .curve--gap { color: $foreground 55%; }
    Plot > .curve--axis, Plot > .curve--label { color: $foreground 55%; }
    """

    def __init__(
        self,
        data: CurveData = _NOTHING,
        *,
        mode: Mode = "block",
        scale: StickyScale | None = None,
        outliers: int = 0,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """`outliers`: how many columns may exceed the top instead of setting the scale."""
        super().__init__(name=name, id=id, classes=classes)
        self._data = data
        self._mode: Mode = mode
        self._scale = scale or StickyScale()
        self._outliers = outliers
        self._labelled = False
        """Whether marks are labelled inside the curve."""
        self._now = 0.0
        self._upper = 1.0
        self._lines: list[Line] = []
        self._body: list[Line] = []
        self._key: tuple[object, ...] | None = None
        self._drawn_size: Size | None = None
        self._role_styles: dict[str, Style] = {}
        self._styled_on: Color | None = None

    @property
    def columns(self) -> int:
        """The number of data columns that fit, which callers should aggregate to."""
        return self.size.width * columns_per_cell(self._mode)

    @property
    def upper(self) -> float:
        """The value at the top edge."""
        return self._upper

    @property
    def mode(self) -> Mode:
        """The kind of characters that draw it."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        if mode != self._mode:
            self._mode = mode
            self._redraw()

    def update(self, data: CurveData, now: float | None = None) -> None:
        """Show this data, repainting only rows that change. The scale follows `now` (seconds)."""
        self._data = data
        self._now = time.monotonic() if now is None else now
        self._redraw()

    def _redraw(self) -> None:
        if not self.is_mounted:
            return
        before, drawn_size = self._lines, self._drawn_size
        size = self._draw_all()
        if drawn_size != size:
            self.refresh()
            return
        rows = enumerate(zip(before, self._lines, strict=True))
        changed = [Region(0, y, size.width, 1) for y, (old, new) in rows if old != new]
        if changed:
            self.refresh(*changed)

    def _draw_all(self) -> Size:
        # Translucent colours depend on what is behind. Looked up once per drawing, because it is expensive.
        background = self.background_colors[1]
        if background != self._styled_on:
            self._role_styles.clear()
            self._styled_on = background
        size = self._drawn_size = self.size
        self._lines = self.draw_lines(size.width, size.height)
        return size

    def draw_lines(self, width: int, height: int) -> list[Line]:
        """Return all `height` lines, each `width` cells wide."""
        return self._rows(self._fitted(width), height)

    def _rows(self, data: CurveData, height: int) -> list[Line]:
        # The screen updates more often than a column fills: most of the time nothing is new.
        key = (data.key(), height, self._upper, self._mode)
        if key != self._key:
            self._key = key
            self._body = list(draw(data, height, self._upper, self._mode, labelled=self._labelled))
        return self._body

    def _fitted(self, width: int) -> CurveData:
        """Return the data for that many cells, and adapt the scale to what is visible."""
        data = fit(self._data, width * columns_per_cell(self._mode))
        self._upper = self._scale.update(peak(data, self._outliers), self._now)
        return data

    def render_line(self, y: int) -> Strip:
        size = self.size
        if self._drawn_size != size:  # resized since, or never drawn
            self._draw_all()
        if y >= len(self._lines):
            return Strip.blank(size.width)
        segments: list[Segment] = []
        for text, style in self._styled(self._lines[y]):
            if segments and segments[-1].style == style:
                text = segments.pop().text + text
            segments.append(Segment(text, style))
        return Strip(segments, size.width)

    def _styled(self, line: Line) -> Iterator[tuple[str, Style]]:
        # A cache of our own, because refresh() empties Textual's.
        for text, role in line:
            if role not in self._role_styles:
                self._role_styles[role] = self.get_component_rich_style(f"curve--{role}")
            yield text, self._role_styles[role]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._role_styles.clear()


class Chart(Plot):
    """A curve with axes, and labels of the marks on top, as far as there is room for these."""

    DEFAULT_CSS = "Chart { height: 1fr; }"

    def __init__(
        self,
        data: CurveData = _NOTHING,
        *,
        mode: Mode = "block",
        scale: StickyScale | None = None,
        outliers: int = 0,
        formatter: Callable[[float], str] = "{:g}".format,
        x_axis: XAxis | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(data, mode=mode, scale=scale, outliers=outliers, name=name, id=id, classes=classes)
        self._formatter = formatter
        self._x_axis = x_axis
        self._gutter = 0

    @property
    def columns(self) -> int:
        return self._body_width(self.size.width) * columns_per_cell(self._mode)

    def update(self, data: CurveData, now: float | None = None, *, x_axis: XAxis | None = None) -> None:
        """Show this data; an `x_axis` stays until the next one is given."""
        self._x_axis = x_axis or self._x_axis
        super().update(data, now)

    def _body_width(self, width: int) -> int:
        return width - self._gutter if width >= self._gutter + 10 else width

    def draw_lines(self, width: int, height: int) -> list[Line]:
        x_axis = self._x_axis if height >= 5 and len(self._data.mid) else None
        top = 1 if height >= 7 else 0
        rows = height - top - (2 if x_axis else 0)
        self._fitted(width)  # the bound first: its label determines the width of the gutter
        ticks = self._ticks(rows, max(2, min(5, rows // 2 + 1)))
        body = self._body_width(width)
        gutter = width - body
        data = self._fitted(body)
        lines: list[Line] = []
        if top:
            per_cell = columns_per_cell(self._mode)
            names = [(m // per_cell, n) for m, n in zip(data.marks, data.labels, strict=False)]
            lines.append([(" " * gutter + place_labels(body, names), "mark")])
        for y, row in enumerate(self._rows(data, rows)):
            lines.append([*self._y_axis(ticks.get(rows - 1 - y), gutter), *row])
        if x_axis:
            lines += self._x_lines(x_axis, gutter, body)
        return lines

    def _ticks(self, rows: int, most: int) -> dict[int, str]:
        """Return labels by row from the bottom, and make room for them in the gutter."""
        ticks = {
            max(0, math.ceil(rows * tick / self._upper - 1e-6) - 1): self._formatter(tick)
            for tick in nice_ticks(0.0, self._upper, most)
        }
        # It never gets narrower: a gutter that follows its labels would move the whole picture.
        self._gutter = max(self._gutter, *(len(text) + 2 for text in ticks.values()), 0)
        return ticks

    def _y_axis(self, text: str | None, gutter: int) -> Line:
        if not gutter:
            return []
        plain, tick = "|+" if self._mode == "ascii" else "│┤"
        return [(f"{text or '':>{gutter - 2}} {plain if text is None else tick}", "axis")]

    def _x_ticks(self, axis: XAxis, width: int) -> dict[int, float]:
        """Return values by cell."""
        per_cell = (axis.last - axis.first) / max(1, len(self._data.mid)) * columns_per_cell(self._mode)
        left = axis.last - per_cell * width
        ticks = nice_ticks(left, axis.last, max(2, width // 9)) if per_cell > 0 else []
        # Aligned with the last cell, so that "now" stands under the newest column.
        return {min(width - 1, max(0, math.floor((tick - left) / per_cell))): tick for tick in ticks}

    def _x_lines(self, axis: XAxis, gutter: int, width: int) -> list[Line]:
        cells = self._x_ticks(axis, width)
        corner, plain, mark = "+-+" if self._mode == "ascii" else "└─┬"
        rule = "".join(mark if x in cells else plain for x in range(width))
        names = place_labels(
            width, [(x, axis.label(tick)) for x, tick in sorted(cells.items(), reverse=True)]
        )
        edge = " " * (gutter - 1) + corner if gutter else ""
        return [[(edge + rule, "axis")], [(" " * gutter + names, "label")]]
