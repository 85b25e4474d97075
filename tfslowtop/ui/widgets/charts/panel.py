"""A panel: a line with the name, the numbers and the verdict, and the curve under it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from ....state.view import Mark, PanelView
from ...format import SIGNS, plain_text, quantity
from .chart import Curve
from .drawing import OUTLIERS, CurveData

#: What a gauge is called on the screen; a name that is not here speaks for itself.
NAMES = {
    "latency": "latency per iteration",
    "rss": "host memory",
    "gpu": "GPU memory",
    "Python ops": "time in Python ops",
    "waiting for data": "time waiting for data",
}
#: The same where there is less room than for all the numbers.
SHORT = {"latency": "latency", "Python ops": "Python ops", "waiting for data": "data wait"}


def title(name: str) -> str:
    if name.startswith("gpu.") and name.endswith(".memory"):
        return f"GPU {name.split('.')[1]} memory"
    if name.startswith("tf.gpu."):
        return f"TensorFlow's memory on GPU:{name.split('.')[2]}"
    return NAMES.get(name, name)


def curve_data(
    view: PanelView,
    marks: tuple[Mark, ...],
    baseline: float | None,
    label: Callable[[Mark], str] = lambda mark: "",
) -> CurveData:
    """The curve with what stands in it: the toggles, and the level that was marked."""
    curve = view.curve
    places = [((mark.at - curve.start_ns) // curve.width_ns, mark) for mark in marks]
    seen = [(column, label(mark)) for column, mark in places if 0 <= column < len(curve.mid)]
    ghost = np.full(len(curve.mid), baseline) if baseline is not None else None
    columns, labels = tuple(column for column, _ in seen), tuple(text for _, text in seen)
    return CurveData(curve.lo, curve.mid, curve.hi, columns, ghost, labels)


class Panel(Vertical, can_focus=True):
    class Opened(Message):
        """Somebody wants to see this one large."""

        def __init__(self, quantity: str) -> None:
            super().__init__()
            self.quantity = quantity

    BINDINGS = [Binding("enter", "open", "Detail", key_display="enter", tooltip="This panel in full")]
    DEFAULT_CSS = """
    Panel { height: auto; }
    Panel > .panel--line { height: 1; width: 1fr; }
    """

    def __init__(self, name: str, *, ascii: bool = False) -> None:
        super().__init__(id=f"panel-{''.join(c if c.isalnum() else '-' for c in name)}", classes="panel")
        self.quantity = name
        self._ascii = ascii
        self._line = Static(classes="panel--line", markup=False)
        self.curve = Curve(mode="ascii" if ascii else "block", outliers=OUTLIERS)
        self.heading = title(name)
        self._shown: tuple[str, ...] = ()
        self._said = 0.0
        self._fit = (0, 0)

    def compose(self) -> ComposeResult:
        yield self._line
        yield self.curve

    def on_mount(self) -> None:
        self.say(())

    def on_click(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self.post_message(self.Opened(self.quantity))

    def say(self, numbers: tuple[str, ...], direction: str = "", words: str = "", note: str = "") -> None:
        """Writes the line, if it is not the one that stands there."""
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
        self._line.set_class(direction == "rising", "-rising")
        self._line.set_class(direction == "falling", "-falling")
        # One line whatever it says: a layout of the whole screen, four times a second, is for nothing.
        self._line.update(plain_text(text) if self._ascii else text, layout=False)

    def _fitting(self, numbers: tuple[str, ...], width: int) -> tuple[str, tuple[str, ...]]:
        """The heading and as many of the numbers as there is room for.

        What was left out stays out as long as the panel keeps its width: nothing comes and goes with a digit.
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
        """As if nothing had been measured."""
        self._said = 0.0
        self.say(())
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
        """`instead` is said in the place of the view's numbers."""
        numbers = [instead or quantity(view.now, view.unit)]
        if not instead and view.median == view.median:  # not NaN
            numbers += [f"median {quantity(view.median, view.unit)}", f"p95 {quantity(view.p95, view.unit)}"]
        known = view.now == view.now  # a verdict without a value would only be noise
        # Digits that change more often than twice a second are not read, only paid for.
        if now - self._said >= 0.45 or not self._shown[:1]:
            self._said = now
            direction = view.trend.direction if view.trend and known else ""
            self.say(tuple(numbers) if known else (), direction, view.words if known else "", note)
        self.curve.update(curve_data(view, marks, baseline), now)
