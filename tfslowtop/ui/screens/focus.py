"""One panel full screen, for a talk: what the last row of the room has to read is large."""

from __future__ import annotations

import math
import time

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Digits, Static

from ...state.view import PanelView, View
from ...stats.trend import describe_slope
from ..format import SIGNS, quantity
from ..frame import Frame
from ..widgets.charts.chart import Chart
from ..widgets.charts.drawing import OUTLIERS, Mode
from ..widgets.charts.panel import panel_title
from .detail import show_curve
from .live import LiveScreen
from .main import STANDARD_PANELS


class BigNumber(Horizontal):
    """A number in large digits with small words beside it; one bold line in ASCII mode."""

    def __init__(self, *, ascii: bool, id: str) -> None:
        super().__init__(id=id, classes="big")
        self._ascii = ascii
        self._digits: Digits | Static = Static(markup=False) if ascii else Digits()
        self._words = Static(classes="big--words", markup=False)
        self._shown = ("", "")

    def compose(self) -> ComposeResult:
        yield self._digits
        yield self._words

    def show(self, number: str, words: str) -> None:
        if (number, words) == self._shown:
            return
        self._shown = (number, words)
        if isinstance(self._digits, Digits):
            self._digits.update(number)
        else:
            self._digits.update(Text(number, "bold"))
        self._words.update(words)


class FocusScreen(LiveScreen):
    BINDINGS = [
        Binding("F", "close", "Back", show=False),
        Binding("tab,right,l", "cycle(1)", "Next panel", key_display="tab"),
        Binding("shift+tab,left,h", "cycle(-1)", "Previous panel", show=False),
    ]

    def __init__(self, quantity: str, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self.quantity = quantity
        self._unit = ""
        self._names: tuple[str, ...] = (quantity,)
        self._now = BigNumber(ascii=ascii, id="focus-now")
        self._effect = BigNumber(ascii=ascii, id="focus-effect")
        self._verdict = Static(id="focus-verdict", markup=False)
        self._chart = self._new_chart()
        self._fixes = Static(id="focus-fixes", markup=False)
        self._frame: Frame | None = None

    def _new_chart(self) -> Chart:
        mode: Mode = "ascii" if self.ascii else "block"
        return Chart(mode=mode, outliers=OUTLIERS, formatter=self._formatted, classes="focus-chart")

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="focus-numbers"):
            yield self._now
            yield self._effect
        yield self._verdict
        with Vertical(id="focus-curve"):
            yield self._chart
        yield self._fixes

    def _formatted(self, value: float) -> str:
        return self.spell(quantity(value, self._unit)) if value else "0"

    async def action_cycle(self, step: int) -> None:
        index = self._names.index(self.quantity) if self.quantity in self._names else 0
        self.quantity = self._names[(index + step) % len(self._names)]
        # Another quantity has another scale and another gutter.
        old, self._chart = self._chart, self._new_chart()
        await self.query_one("#focus-curve").mount(self._chart)
        await old.remove()
        if self._frame is not None:
            self.call_after_refresh(self.show, self._frame)

    def show(self, frame: Frame) -> None:
        self._frame, view = frame, frame.view
        self._names = tuple(sorted((panel.name for panel in view.panels), key=_order))
        panel = view.panel(self.quantity)
        self.headline(frame.title, frame.status)
        if panel is None:
            return
        self._unit = panel.unit
        number, _, unit = quantity(panel.now, panel.unit).partition(" ")
        known = math.isfinite(panel.now)
        self._now.show(number if known else "-", self.spell(f"{unit}\n{panel_title(panel.name)}".strip()))
        effect = self._last_effect(view)
        self._effect.show(*effect)
        self._effect.display = bool(effect[0])
        self.write(self._verdict, self._verdict_line(panel, view))
        baseline = frame.baselines.get(panel.name)
        show_curve(self._chart, panel, view.marks, frame.fixes, time.monotonic(), baseline)
        self.write(self._fixes, self._fix_lines(frame))

    def _last_effect(self, view: View) -> tuple[str, str]:
        """Return the ratio of the newest toggle and its meaning, if it is known and there is one."""
        marks = view.marks
        if not marks or marks[-1].effect is None or self.quantity != "latency":
            return "", ""
        effect = marks[-1].effect
        if effect.verdict == "no difference shown":
            return "", ""
        ratio = effect.ratio if effect.verdict == "faster" else 1 / effect.ratio
        number = f"x{ratio:.2f}" if ratio < 2 else f"x{ratio:.1f}" if ratio < 100 else f"x{ratio:,.0f}"
        return number, f"{effect.verdict}\nthan before"

    def _verdict_line(self, panel: PanelView, view: View) -> Text:
        direction = panel.trend.direction if panel.trend else ""
        sign = SIGNS.get(direction, "")
        self._verdict.set_class(direction == "rising", "-rising")
        self._verdict.set_class(direction == "falling", "-falling")
        known = math.isfinite(panel.now)
        words = (f"{sign} {panel.words}".strip() if known else "") or "measuring …"
        effect = view.marks[-1].effect if view.marks and self.quantity == "latency" else None
        if effect is not None:
            words += f"   before: {describe_slope(effect.before)}"
        return Text(self.spell(words), "bold", no_wrap=True, overflow="ellipsis")

    def _fix_lines(self, frame: Frame) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        for n, fix in enumerate(frame.fixes):
            on = fix.id in frame.view.fixes
            text.append(self.spell(f"{n + 1} {'[x]' if on else '[ ]'} {fix.title}"), "bold" if on else "")
            text.append("\n")
        text.rstrip()
        return text


def _order(name: str) -> int:
    """Sort as on the main screen."""
    kind = name.partition(".")[0]
    return STANDARD_PANELS.index(kind) if kind in STANDARD_PANELS else len(STANDARD_PANELS)
