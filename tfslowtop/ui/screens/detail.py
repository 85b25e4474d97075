"""One quantity in full: a large chart, its distribution, the effect of each toggle, and the traces."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Static

from ...agent.protocol.names import STREAM_KERNEL
from ...scenario import Fix
from ...state.view import Mark, PanelView, View
from ...stats.effect import Effect, describe_slopes
from ...stats.trend import Trend, describe_leak
from ..format import NOTHING, SIGNS, plain, quantity
from ..frame import Frame
from ..widgets.charts.axes import XAxis
from ..widgets.charts.chart import Chart, curve_mode
from ..widgets.charts.drawing import OUTLIERS
from ..widgets.charts.histogram import Histogram
from ..widgets.charts.panel import chart_data, panel_title, shown_quantity
from ..widgets.script.streams import display_name
from .live import LiveScreen, Page

#: Traces that are listed; older ones are only counted.
_LISTED = 60
#: Seconds between two versions of the lists: they change often, and people read them slowly.
_LISTS_EVERY = 1.0


class DetailScreen(LiveScreen):
    def __init__(self, quantity: str, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self.quantity = quantity
        self._unit = "s" if quantity == "latency" else ""
        self._numbers = Static(classes="numbers", markup=False)
        mode = curve_mode(ascii=ascii)
        self._chart = Chart(mode=mode, outliers=OUTLIERS, formatter=self._formatted, id="detail-chart")
        self._spread_line = Static(classes="part", markup=False)
        self._histogram = Histogram(mode="ascii" if ascii else "block", id="detail-histogram")
        self._toggles = Static(classes="part", markup=False)
        self._traces = Static(classes="part", markup=False)
        self._listed = 0.0

    def compose_body(self) -> ComposeResult:
        yield self._numbers
        with Page(id="detail-page"):
            yield self._chart
            with Container(id="detail-lower"):
                with Container(id="detail-spread"):
                    yield self._spread_line
                    yield self._histogram
                yield self._toggles
            yield self._traces

    def _formatted(self, value: float) -> str:
        return self.spell(quantity(value, self._unit)) if value else "0"

    def show(self, frame: Frame) -> None:
        view = frame.view
        panel = view.panel(self.quantity)
        self.headline(f"{self._subject(view)} · {frame.title}", frame.status)
        if panel is None:
            return
        now = time.monotonic()
        self._unit = panel.unit
        baseline = frame.baselines.get(self.quantity)
        self.write(self._numbers, numbers(panel, baseline, self.app.size.width - 1, ascii=self.ascii))
        show_curve(self._chart, panel, view.marks, frame.fixes, now, baseline)
        if panel.spread is not None:
            self._histogram.show(panel.spread, panel.unit, now)
        self._histogram.display = panel.spread is not None
        self.write(self._spread_line, self._spread(panel, bool(view.marks)))
        if now - self._listed >= _LISTS_EVERY:
            self._listed = now
            if frame.fixes:
                self.write(self._toggles, self._table(view, frame.fixes))
            self.write(self._traces, self._trace_list(view))

    def _subject(self, view: View) -> str:
        """Name the quantity; of a script's latency, also the stream that it belongs to."""
        step = next((s for s in view.streams if s.is_step), None)
        if self.quantity == "latency" and step is not None and step.kind != STREAM_KERNEL:
            return f"latency of {display_name(step)}"
        return panel_title(self.quantity)

    def _spread(self, panel: PanelView, toggled: bool) -> Text:
        text, spread = Text("Distribution", "bold"), panel.spread
        if spread is None:
            return text.append("  none: this is a running count", "not bold")
        since = "since the last toggle" if panel.name == "latency" and toggled else "since the start"
        values = zip((50, 95, 99), spread.quantiles((0.5, 0.95, 0.99)), strict=True)
        parts = [f"p{rank} {quantity(value, panel.unit)}" for rank, value in values]
        line = f"  {' · '.join(parts)} · {spread.count:,.0f} values {since}"
        return text.append(self.spell(line), "not bold")

    def _table(self, view: View, fixes: Sequence[Fix]) -> Text:
        text = Text("Effect of each toggle", "bold")
        toggles = [n for n, segment in enumerate(view.segments) if segment.mark.changed]
        rows = [_row(view, n, fixes, memory=self._unit == "B") for n in toggles]
        comparison = view.comparison
        if comparison is not None and comparison.effect is not None:
            state = "A/B, running" if comparison.running else "A/B"
            rows.append((state, *_effect(comparison.effect), f"{comparison.blocks} pairs of blocks"))
        if not rows:
            return text.append("\nNothing toggled yet: 1-9 toggle a fix, x runs an A/B test.", "not bold")
        rows = [("fix", "before / after, 95 % interval", "slope before → after", ""), *rows]
        if max(self.app.size.width // (2 if self.has_class("-wide") else 1), 0) < 70:
            # Too narrow for columns: two lines per toggle.
            for name, ratio, slopes, rest in rows[1:]:
                text.append(self.spell(f"\n{name}  {ratio}\n    {slopes}  {rest}".rstrip()), "not bold")
            return text
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        for row in rows:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            text.append("\n" + self.spell(line), "not bold" if row is not rows[0] else "not bold underline")
        return text

    def _trace_list(self, view: View) -> Text:
        text = Text("Traces", "bold")
        if not view.traces:
            return text.append("  none: no tf.function was traced", "not bold")
        spent = quantity(view.trace_seconds, "s")
        text.append(self.spell(f"  {view.traces:,}, {spent} in total; newest first"), "not bold")
        for trace in reversed(view.last_traces[-_LISTED:]):
            place = f"{trace.file.rsplit('/', 1)[-1]}:{trace.line}"
            line = f"\n{trace.function} #{trace.number}  {place}  {quantity(trace.wall / 1e9, 's')}"
            text.append(self.spell(line), "not bold")
            for reason in trace.reasons:
                change = f": {reason.before} → {reason.after}" if reason.before or reason.after else ""
                argument = f"{reason.argument}: " if reason.argument else ""
                text.append(self.spell(f"\n    {argument}{reason.cause}{change}"), "not bold italic")
        older = view.traces - min(view.traces, _LISTED, len(view.last_traces))
        return text.append(self.spell(f"\n… and {older:,} older") if older else "", "not bold")


def numbers(panel: PanelView, baseline: float | None, width: int, *, ascii: bool) -> Text:
    """Return the numbers and, at the right, the verdict; drop the last numbers where room is short."""
    if panel.now != panel.now:  # NaN
        return Text("Nothing measured yet")
    trend = panel.trend
    sign = SIGNS.get(trend.direction if trend else "", "")
    parts = [f"now {quantity(panel.now, panel.unit)}"]
    if panel.has_base:
        parts.insert(0, f"{shown_quantity(panel)} since start")
    if panel.median == panel.median:  # not NaN
        parts += [
            f"median {quantity(panel.median, panel.unit)}",
            f"p95 {quantity(panel.p95, panel.unit)}",
        ]
    if baseline is not None:
        parts.append(f"baseline {quantity(baseline, panel.unit)}")
    words = f"{sign} {panel.words}".strip()
    why = f" ({trend.why})" if trend and trend.why and trend.direction == "unclear" else ""
    while len(parts) > 1 and len(" · ".join(parts)) + len(words) + 2 > width:
        parts.pop()
    line = " · ".join(parts)
    words = words + why if len(line) + len(words + why) + 2 <= width else words
    line = f"{line}{words:>{max(width - len(line), len(words) + 2)}}" if words else line
    return Text(plain(line) if ascii else line, no_wrap=True, overflow="ellipsis")


def show_curve(
    chart: Chart,
    panel: PanelView,
    marks: tuple[Mark, ...],
    fixes: Sequence[Fix],
    now: float,
    baseline: float | None = None,
) -> None:
    """Draw the curve over the seconds before now, marked with the number of each fix where it was toggled.

    It takes its colour from its verdict.
    """
    curve = panel.curve
    data = chart_data(panel, marks, baseline, lambda mark: mark_label(mark, fixes))
    span = len(curve.mid) * curve.width_ns / 1e9
    axis = XAxis.seconds_ago(span)
    direction = panel.trend.direction if panel.trend else ""
    chart.set_class(direction == "rising", "-rising")
    chart.set_class(direction == "falling", "-falling")
    chart.update(data, now, x_axis=axis)


def mark_label(mark: Mark, fixes: Sequence[Fix]) -> str:
    """Return `+1 -2` where fix 1 was switched on and fix 2 off."""
    order = [fix.id for fix in fixes]
    return " ".join(
        f"{'+' if id in mark.fixes else '-'}{order.index(id) + 1 if id in order else id}"
        for id in sorted(mark.changed, key=lambda id: order.index(id) if id in order else 99)
    )


def _row(view: View, n: int, fixes: Sequence[Fix], *, memory: bool) -> tuple[str, str, str, str]:
    segment = view.segments[n]
    mark = segment.mark
    name = f"{mark_label(mark, fixes)} at iteration {mark.iteration:,}"
    if memory:
        before = view.segments[n - 1].memory if n else None
        return name, NOTHING, f"{_leak(before)} → {_leak(segment.memory)}", "memory"
    if mark.effect is None:
        return name, "measuring …", "", ""
    return name, *_effect(mark.effect), mark.effect.verdict


def _leak(trend: Trend | None) -> str:
    return describe_leak(trend) if trend else NOTHING


def _effect(effect: Effect) -> tuple[str, str]:
    places = 2 if effect.ratio < 2 else 1 if effect.ratio < 100 else 0
    ratio = f"×{effect.ratio:.{places}f} ({effect.low:.{places}f}–{effect.high:.{places}f})"
    return ratio, describe_slopes(effect) or "none"
