"""One panel full screen, for a talk: what the last row of the room has to read is large."""

from __future__ import annotations

import math
import time

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from ...state.view import PanelView
from ...stats.effect import describe_slopes
from ...stats.trend import describe_slope
from ..format import SIGNS, quantity
from ..frame import Frame
from ..widgets.big_number import BigNumber
from ..widgets.charts.chart import Chart, curve_mode
from ..widgets.charts.drawing import OUTLIERS
from ..widgets.charts.panel import panel_title, shown_quantity
from ..widgets.effect_card import factor, newest_effect
from .detail import show_curve
from .live import LiveScreen
from .main import STANDARD_PANELS


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
        mode = curve_mode(ascii=self.ascii)
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
        number, _, unit = shown_quantity(panel).partition(" ")
        known = math.isfinite(panel.now)
        self._now.show(number if known else "-", self.spell(f"{unit}\n{panel_title(panel.name)}".strip()))
        effect = self._last_effect(frame)
        self._effect.show(*effect)
        self._effect.display = bool(effect[0])
        self.write(self._verdict, self._verdict_line(panel, frame))
        baseline = frame.baselines.get(panel.name)
        show_curve(self._chart, panel, view.marks, frame.fixes, time.monotonic(), baseline)
        self.write(self._fixes, self._fix_lines(frame))

    def _last_effect(self, frame: Frame) -> tuple[str, str]:
        """Return the ratio of the newest toggle or A/B test and its meaning, if they are known."""
        newest = newest_effect(frame.view, frame.fixes) if self.quantity == "latency" else None
        if newest is None or newest.effect is None or newest.effect.verdict == "no difference shown":
            return "", ""
        return factor(newest.effect).replace("×", "x"), f"{newest.effect.verdict}\n{newest.against}"

    def _verdict_line(self, panel: PanelView, frame: Frame) -> Text:
        direction = panel.trend.direction if panel.trend else ""
        sign = SIGNS.get(direction, "")
        self._verdict.set_class(direction == "rising", "-rising")
        self._verdict.set_class(direction == "falling", "-falling")
        known = math.isfinite(panel.now)
        words = (f"{sign} {panel.words}".strip() if known else "") or "measuring …"
        newest = newest_effect(frame.view, frame.fixes) if self.quantity == "latency" else None
        if newest is not None and newest.effect is not None:
            if newest.is_test:
                words = f"{newest.title}: {describe_slopes(newest.effect) or 'no slope on either side'}"
            elif newest.effect.before.direction != "unclear":
                words += f"   before: {describe_slope(newest.effect.before)}"
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
