"""A panel: a line with name, numbers and verdict, and a curve below it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from ....agent.protocol.names import GAUGE_RSS, GPU_PREFIX, TF_GPU_PREFIX
from ....state.view import Mark, PanelView
from ...format import SIGNS, plain_text, quantity
from .chart import Plot
from .drawing import OUTLIERS, CurveData

#: What a quantity is called on the screen; other names are shown as they are.
NAMES = {
    "latency": "latency per iteration",
    GAUGE_RSS: "host memory",
    "gpu": "GPU memory",
    "Python ops": "time in Python ops",
    "waiting for data": "time waiting for data",
}
#: Shorter names, for panels without room for all the numbers.
SHORT = {"latency": "latency", "Python ops": "Python ops", "waiting for data": "data wait"}


def panel_title(name: str) -> str:
    """Return what a quantity is called on the screen."""
    if name.startswith(GPU_PREFIX) and name.endswith(".memory"):
        return f"GPU {name.split('.')[1]} memory"
    if name.startswith(TF_GPU_PREFIX):
        return f"TensorFlow's memory on GPU:{name.split('.')[2]}"
    return NAMES.get(name, name)


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
    ghost = np.full(len(curve.mid), baseline) if baseline is not None else None
    columns, labels = tuple(column for column, _ in seen), tuple(text for _, text in seen)
    return CurveData(curve.lo, curve.mid, curve.hi, columns, ghost, labels)


class Panel(Vertical, can_focus=True):
    class Opened(Message):
        """Somebody wants to see this panel in full."""

        def __init__(self, quantity: str) -> None:
            super().__init__()
            self.quantity = quantity

    BINDINGS = [Binding("enter", "open", "Detail", key_display="enter", tooltip="Show this panel in full")]
    DEFAULT_CSS = """
    Panel { height: auto; }
    Panel > .panel--line { height: 1; width: 1fr; }
    """

    def __init__(self, name: str, *, ascii: bool = False) -> None:
        super().__init__(id=f"panel-{''.join(c if c.isalnum() else '-' for c in name)}", classes="panel")
        self.quantity = name
        self._ascii = ascii
        self._line = Static(classes="panel--line", markup=False)
        self.curve = Plot(mode="ascii" if ascii else "block", outliers=OUTLIERS)
        self.heading = panel_title(name)
        self._shown: tuple[str, ...] = ()
        self._written_at = 0.0
        self._fit = (0, 0)

    def compose(self) -> ComposeResult:
        yield self._line
        yield self.curve

    def on_mount(self) -> None:
        self.write_line(())

    def on_click(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self.post_message(self.Opened(self.quantity))

    def write_line(
        self, numbers: tuple[str, ...], direction: str = "", words: str = "", note: str = ""
    ) -> None:
        """Write the line, unless it stands there already."""
        shown = (*numbers, direction, words, note, self.heading, str(self.size.width))
        if shown == self._shown:
            return
        self._shown = shown
        sign = SIGNS.get(direction, "")
        verdict = f"{sign} {words}".strip()
        width = self.size.width or 80
        heading, numbers = self._fitting(numbers, width - len(verdict) - (3 if verdict else 0))
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(heading, "bold")
        if numbers:
            text.append("  " + " · ".join(numbers))
        if note:
            text.append("  " + note, "italic")
        if verdict:
            text.append(" " * max(2, width - text.cell_len - len(verdict) - 1))
            text.append(verdict, "bold" if direction in ("rising", "falling") else "")
        for node in (self, self._line):  # the curve takes its colour from the verdict, too
            node.set_class(direction == "rising", "-rising")
            node.set_class(direction == "falling", "-falling")
        # Always one line, so that the screen needs no layout, four times a second.
        self._line.update(plain_text(text) if self._ascii else text, layout=False)

    def _fitting(self, numbers: tuple[str, ...], width: int) -> tuple[str, tuple[str, ...]]:
        """Return the heading and as many numbers as fit.

        A number that did not fit stays out until the width changes: nothing comes and goes with a digit.
        """
        if self._fit[0] != self.size.width:
            self._fit = (self.size.width, 0)
        short = SHORT.get(self.quantity, self.heading)
        shapes = [(self.heading, numbers), *((short, numbers[:n]) for n in range(len(numbers), 0, -1))]
        for level, (heading, kept) in enumerate(shapes):
            if level >= self._fit[1] and len(f"{heading}  {' · '.join(kept)}") <= width:
                self._fit = (self.size.width, level)
                return heading, kept
        return shapes[-1]

    def clear(self) -> None:
        """Show the panel as if nothing had been measured."""
        self._written_at = 0.0
        self.write_line(())
        self.curve.update(CurveData.of([]))

    def show(
        self,
        view: PanelView,
        marks: tuple[Mark, ...],
        now: float,
        baseline: float | None = None,
        note: str = "",
        instead: str = "",
    ) -> None:
        """Show numbers and curve; `instead` replaces the view's numbers."""
        numbers = [instead or quantity(view.now, view.unit)]
        if not instead and view.median == view.median:  # not NaN
            numbers += [f"median {quantity(view.median, view.unit)}", f"p95 {quantity(view.p95, view.unit)}"]
        known = view.now == view.now  # a verdict without a value would be noise
        # Nobody reads digits that change more often than twice a second.
        if now - self._written_at >= 0.45 or not self._shown[:1]:
            self._written_at = now
            direction = view.trend.direction if view.trend and known else ""
            self.write_line(tuple(numbers) if known else (), direction, view.words if known else "", note)
        self.curve.update(chart_data(view, marks, baseline), now)
