"""A panel: a frame with title, number and verdict in its upper edge, time in its lower edge, and a curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from textual.binding import Binding
from textual.message import Message

from ....agent.protocol.names import GAUGE_RSS, GPU_PREFIX, TF_GPU_PREFIX
from ....state.view import Mark, PanelView
from ....stats.trend import TOO_FEW
from ...format import SIGNS, plain, quantity
from .axes import XAxis, tick_label
from .chart import Chart, Line, curve_mode
from .drawing import OUTLIERS, CurveData, columns_per_cell
from .scale import StickyScale

#: What a quantity is called on the screen; other names are shown as they are.
NAMES = {
    "latency": "latency per iteration",
    GAUGE_RSS: "memory since start",
    "gpu": "GPU memory",
    "Python ops": "time in Python ops",
    "waiting for data": "time waiting for data",
}
#: Shorter names, for panels without room for all the numbers.
SHORT = {"latency": "latency", "Python ops": "Python ops", "waiting for data": "data wait"}
#: The least top of growing memory, in bytes: allocators take and give back a megabyte all the time.
_LEAST_GROWTH = 5e6
#: Quantities that only grow, of which no column is an outlier.
_GROWING = (GAUGE_RSS, "retraces")
#: Rows from which a panel has room for a frame, and columns from which for an axis.
_FRAMED_ROWS, _AXIS_COLUMNS = 6, 30
#: Seconds between two versions of the numbers: nobody reads digits that change more often.
_WRITTEN_EVERY = 0.45
#: Nanoseconds after a toggle for which a trend that is not clear yet is called settling.
_SETTLING = 10_000_000_000


def panel_title(name: str) -> str:
    """Return what a quantity is called on the screen."""
    if name.startswith(GPU_PREFIX) and name.endswith(".memory"):
        return f"GPU {name.split('.')[1]} memory"
    if name.startswith(TF_GPU_PREFIX):
        return f"TensorFlow's memory on GPU:{name.split('.')[2]}"
    return NAMES.get(name, name)


def shown_quantity(view: PanelView) -> str:
    """Format the newest value as it is drawn: growth with its sign."""
    sign = "+" if view.has_base and view.shown >= 0 else ""
    return sign + quantity(view.shown, view.unit)


def chart_data(
    view: PanelView,
    marks: tuple[Mark, ...],
    baseline: float | None,
    label: Callable[[Mark], str] = lambda mark: "",
) -> CurveData:
    """Return the curve with the toggles and the baseline that are drawn into it."""
    curve = view.curve
    columns_of = [((mark.at - curve.start_ns) // curve.width_ns, mark) for mark in marks]
    seen = [(column, label(mark)) for column, mark in columns_of if 0 <= column < len(curve.mid)]
    columns, labels = tuple(column for column, _ in seen), tuple(text for _, text in seen)
    lo, mid, hi, filled = curve.lo, curve.mid, curve.hi, view.unit in ("B", "")
    if view.has_base:
        before = curve.start_ns + np.arange(1, len(mid) + 1) * curve.width_ns <= view.base_at
        lo, mid, hi = (np.where(before, np.nan, values - view.base) for values in (lo, mid, hi))
        baseline = None if baseline is None else baseline - view.base
    ghost = np.full(len(mid), baseline) if baseline is not None else None
    return CurveData(lo, mid, hi, columns, ghost, labels, filled)


@dataclass(frozen=True, slots=True)
class Head:
    """What the upper edge of a panel says."""

    numbers: tuple[str, ...] = ()
    """The newest value first."""
    direction: str = ""
    words: str = ""
    note: str = ""

    def shapes(self, title: str, short: str) -> list[tuple[str, tuple[str, ...], str]]:
        """Return title, numbers and verdict, in full and then shorter and shorter."""
        sign, numbers = SIGNS.get(self.direction, ""), self.numbers
        verdict = f"{sign} {self.words}".strip()
        brief = f"{sign} {self.words.removeprefix(self.direction)}".replace("  ", " ").strip()
        return [
            (title, numbers, verdict),
            *((short, numbers[:n], verdict) for n in range(len(numbers), 0, -1)),
            (short, numbers[:1], brief),
            (short, numbers[:1], sign),
            (short, numbers[:1], ""),
        ]


class Panel(Chart, can_focus=True):
    class Opened(Message):
        """Somebody wants to see this panel in full."""

        def __init__(self, quantity: str) -> None:
            super().__init__()
            self.quantity = quantity

    BINDINGS = [Binding("enter", "open", "Detail", key_display="enter", tooltip="Show this panel in full")]
    COMPONENT_CLASSES = {f"curve--{role}" for role in ("frame", "title", "number", "small", "verdict")}
    DEFAULT_CSS = """
    Panel { height: 1fr; }
    Panel > .curve--frame { color: $foreground 35%; }
    Panel > .curve--title { color: $foreground; text-style: bold; }
    Panel > .curve--number { color: $foreground; text-style: bold; }
    Panel > .curve--small, Panel > .curve--verdict { color: $foreground 65%; }
    """

    def __init__(self, name: str, *, ascii: bool = False) -> None:
        super().__init__(
            mode=curve_mode(ascii=ascii),
            outliers=0 if name in _GROWING else OUTLIERS,
            formatter=self._formatted,
            id=f"panel-{''.join(c if c.isalnum() else '-' for c in name)}",
            classes="panel",
        )
        self.quantity = name
        self.heading = panel_title(name)
        self._ascii = ascii
        self._unit = ""
        self._labelled = True
        self._head = Head()
        self._written_at = 0.0
        self._fit = (0, 0)

    def _formatted(self, value: float) -> str:
        label = tick_label(value, self._unit)
        return plain(label) if self._ascii else label

    def on_click(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self.post_message(self.Opened(self.quantity))

    # Drawing

    @property
    def columns(self) -> int:
        width, height = self.size
        inner = width - (2 if self._is_framed(width, height) else 1)
        return max(0, inner - self._gutter) * columns_per_cell(self._mode)

    @staticmethod
    def _is_framed(width: int, height: int) -> bool:
        return height >= _FRAMED_ROWS and width >= _AXIS_COLUMNS

    def draw_lines(self, width: int, height: int) -> list[Line]:
        framed = self._is_framed(width, height)
        # Without a frame, a blank at the right keeps neighbours apart.
        inner, rows = width - (2 if framed else 1), height - 1 - framed
        head = self._head_line(width, framed)
        if rows < 1 or inner < 1:
            return [head, *[[(" " * width, "frame")]] * (height - 1)][:height]
        self._fitted(inner)  # the bound first: its label determines the width of the gutter
        has_axis = rows >= 2 and inner >= _AXIS_COLUMNS and len(self._data.mid)
        ticks = self._ticks(rows, 3 if rows >= 4 else 2) if has_axis else {}
        gutter = self._gutter if ticks else 0
        side = ("|" if self._ascii else "│") if framed else " "
        left: Line = [(side, "frame")] if framed else []
        body = [
            [*left, *self._y_axis(ticks.get(rows - 1 - y), gutter), *row, (side, "frame")]
            for y, row in enumerate(self._rows(self._fitted(inner - gutter), rows))
        ]
        return [head, *body, self._foot_line(gutter, inner)] if framed else [head, *body]

    def _head_line(self, width: int, framed: bool) -> Line:
        left, rule, right = ("+-", "-", "-+") if self._ascii else ("╭─", "─", "─╮")
        if not framed:
            left, rule, right = "", " ", "  "
        heading, numbers, verdict = self._fitting(width - (9 if framed else 4))
        parts: list[tuple[str, str]] = [(heading, "title")]
        dot = self._spell(" · ")
        said = [(numbers[0], "number")] if numbers else []
        if len(numbers) > 1:
            said.append((dot + dot.join(numbers[1:]), "small"))
        if verdict:
            said.append(((dot if said else "") + verdict, "verdict"))
        note = self._spell(self._head.note)
        if note:
            said.append(((" " if said else "") + note, "small"))
        gap = " "
        used = sum(len(text) for text, _ in (*parts, *said))
        fill = max(1, width - used - len(left) - len(right) - (4 if framed and said else 2 if framed else 0))
        line: list[tuple[str, str]] = []
        if framed:
            line += [(left + gap, "frame"), *parts, (gap + rule * fill, "frame")]
            line += [(gap, "frame"), *said, (gap + right, "frame")] if said else [(right, "frame")]
        else:
            line += [*parts, (rule * fill, "frame"), *said, (right, "frame")]
        return _cut(line, width)

    def _foot_line(self, gutter: int, inner: int) -> Line:
        corners, rule = ("++", "-") if self._ascii else ("╰╯", "─")
        cells = [rule] * inner
        axis = self._x_axis
        if axis is not None and len(self._data.mid):
            for cell, tick in sorted(self._x_ticks(axis, inner - gutter).items(), reverse=True):
                text = f" {axis.label(tick)} "
                start = min(gutter + cell - len(text) // 2, inner - len(text) - 1)
                if start >= 1 and "".join(cells[start - 1 : start + len(text)]) == rule * (len(text) + 1):
                    cells[start : start + len(text)] = text
        return [(corners[0] + "".join(cells) + corners[1], "frame")]

    def _fitting(self, width: int) -> tuple[str, tuple[str, ...], str]:
        """Return title, numbers and verdict as far as they fit.

        What did not fit stays out until the width changes: nothing comes and goes with a digit.
        """
        if self._fit[0] != width:
            self._fit = (width, 0)
        known = self.heading == panel_title(self.quantity)
        short = SHORT.get(self.quantity, self.heading) if known else self.heading.removesuffix(", memory")
        shapes = self._head.shapes(self.heading, short)
        if self.heading == NAMES[GAUGE_RSS]:  # since when it grows matters more than its total
            shapes[-1:] = self._head.shapes("memory", "memory")[-3:]
        for level, (heading, numbers, verdict) in enumerate(shapes):
            said = " · ".join((*numbers, verdict) if verdict else numbers)
            if level >= self._fit[1] and len(heading) + len(said) + len(self._head.note) <= width:
                self._fit = (width, level)
                break
        return self._spell(heading), tuple(map(self._spell, numbers)), self._spell(verdict)

    def _spell(self, text: str) -> str:
        return plain(text) if self._ascii else text

    # Showing

    def write_line(
        self, numbers: tuple[str, ...], direction: str = "", words: str = "", note: str = ""
    ) -> None:
        """Write the upper edge. The curve takes its colour from the verdict, too."""
        self._head = Head(numbers, direction, words, note)
        self.set_class(direction == "rising", "-rising")
        self.set_class(direction == "falling", "-falling")
        self._redraw()

    def clear(self) -> None:
        """Show the panel as if nothing had been measured."""
        self._written_at = 0.0
        self._scale = StickyScale()
        self._gutter = 0
        self._head = Head()
        self.update(CurveData.of([]))
        self.write_line(())

    def show(
        self,
        view: PanelView,
        marks: tuple[Mark, ...],
        now: float,
        baseline: float | None = None,
        note: str = "",
        instead: tuple[str, ...] = (),
        label: Callable[[Mark], str] = lambda mark: "",
        *,
        is_mixed: bool = False,
    ) -> None:
        """Show numbers and curve; `instead` replaces the view's numbers.

        A curve that `is_mixed` of both arms of an A/B test has no trend.
        """
        self._unit = view.unit
        if view.has_base and self._scale.floor < _LEAST_GROWTH:
            self._scale = StickyScale(_LEAST_GROWTH)
        known = view.now == view.now  # a verdict without a value would be noise
        if now - self._written_at >= _WRITTEN_EVERY or not self._head.numbers:
            self._written_at = now
            direction, words = _verdict(view, marks) if known and not is_mixed else ("", "")
            numbers = (instead or _numbers(view)) if known else ()
            if self.quantity == GAUGE_RSS:
                self.heading = NAMES[GAUGE_RSS] if view.has_base else "memory"
            self._head = Head(numbers, direction, words, note)
            self.set_class(direction == "rising", "-rising")
            self.set_class(direction == "falling", "-falling")
        span = len(view.curve.mid) * view.curve.width_ns / 1e9
        self.update(chart_data(view, marks, baseline, label), now, x_axis=XAxis.seconds_ago(span))


def _verdict(view: PanelView, marks: tuple[Mark, ...]) -> tuple[str, str]:
    """Return direction and words. A latency that is not clear yet is settling; others say nothing."""
    trend = view.trend
    if trend is None or trend.direction != "unclear":
        return trend.direction if trend else "", view.words
    if view.unit != "s":
        return "", ""
    now = view.curve.start_ns + len(view.curve.mid) * view.curve.width_ns
    settling = trend.why == TOO_FEW or (marks and now - marks[-1].at < _SETTLING)
    return ("settling", "settling") if settling else (trend.direction, view.words)


def _numbers(view: PanelView) -> tuple[str, ...]:
    if view.has_base:
        return shown_quantity(view), f"total {quantity(view.now, view.unit)}"
    if view.median != view.median or view.unit in ("", "B"):  # NaN; or the newest value says it all
        return (quantity(view.now, view.unit),)
    median, p95 = (quantity(value, view.unit) for value in (view.median, view.p95))
    return quantity(view.now, view.unit), f"median {median}", f"p95 {p95}"


def _cut(line: list[tuple[str, str]], width: int) -> Line:
    """Cut or fill a line to that many cells."""
    kept: list[tuple[str, str]] = []
    for text, role in line:
        room = width - sum(len(text) for text, _ in kept)
        if room > 0 and text:
            kept.append((text[:room], role))
    missing = width - sum(len(text) for text, _ in kept)
    return [*kept, (" " * missing, "frame")] if missing else kept
