"""One quantity in full: a large chart, its distribution, what every toggle did, and the traces."""

from __future__ import annotations

import time

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Static

from ...catalogue.find import Entry
from ...scenario import Scenario
from ...state.view import Mark, PanelView, View
from ...stats.effect import Effect
from ...stats.trend import Trend, describe_leak, describe_slope
from ..format import NOTHING, SIGNS, duration, plain, quantity
from ..widgets.charts.chart import Chart, XAxis
from ..widgets.charts.drawing import OUTLIERS, Mode
from ..widgets.charts.histogram import Histogram
from ..widgets.charts.panel import curve_data, title
from ..widgets.script.streams import name_of
from .live import LiveScreen, Page

#: Traces that are listed; more are counted.
_LISTED = 60
#: The lists change often while something retraces; a person reads them slowly.
_LISTS_EVERY = 1.0


class DetailScreen(LiveScreen):
    def __init__(self, quantity: str, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self.quantity = quantity
        mode: Mode = "ascii" if ascii else "block"
        self._unit = "s" if quantity == "latency" else ""
        self._numbers = Static(classes="numbers", markup=False)
        self._chart = Chart(mode=mode, outliers=OUTLIERS, formatter=self._formatted, id="detail-chart")
        self._spread_line = Static(classes="part", markup=False)
        self._histogram = Histogram(mode=mode, id="detail-histogram")
        self._toggles = Static(classes="part", markup=False)
        self._traces = Static(classes="part", markup=False)
        self._listed = 0.0

    def parts(self) -> ComposeResult:
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

    def show_view(self, view: View, entry: Entry, words: str) -> None:
        panel = view.panel(self.quantity)
        step = next((s for s in view.streams if s.is_step), None) if self.quantity == "latency" else None
        subject = f"latency of {name_of(step)}" if entry.scenario is None and step else title(self.quantity)
        self.headline(f"{subject} · {entry.title}", words)
        if panel is None:
            return
        now = time.monotonic()
        self._unit = panel.unit
        baseline = self.baselines.get(self.quantity)
        self.say(self._numbers, numbers(panel, baseline, self.app.size.width - 1, ascii=self.ascii))
        show_curve(self._chart, panel, view.marks, entry.scenario, now, baseline)
        if panel.spread is not None:
            self._histogram.show(panel.spread, panel.unit, now)
        self._histogram.display = panel.spread is not None
        self.say(self._spread_line, self._spread(panel, bool(view.marks)))
        if now - self._listed >= _LISTS_EVERY:
            self._listed = now
            if entry.scenario is not None:
                self.say(self._toggles, self._table(view, entry.scenario))
            self.say(self._traces, self._trace_list(view))

    def _spread(self, panel: PanelView, toggled: bool) -> Text:
        text, spread = Text("Distribution", "bold"), panel.spread
        if spread is None:
            return text.append("  none: this is a running count", "not bold")
        since = "since the last toggle" if panel.name == "latency" and toggled else "since the start"
        values = zip((50, 95, 99), spread.quantiles((0.5, 0.95, 0.99)), strict=True)
        parts = [f"p{rank} {quantity(value, panel.unit)}" for rank, value in values]
        line = f"  {' · '.join(parts)} · {spread.count:,.0f} values {since}"
        return text.append(self.spell(line), "not bold")

    def _table(self, view: View, scenario: Scenario | None) -> Text:
        text = Text("What each toggle did", "bold")
        toggles = [n for n, segment in enumerate(view.segments) if segment.mark.changed]
        rows = [_row(view, n, scenario, memory=self._unit == "B") for n in toggles]
        comparison = view.comparison
        if comparison is not None and comparison.effect is not None:
            state = "A/B, running" if comparison.running else "A/B"
            rows.append((state, *_effect(comparison.effect), f"{comparison.blocks} pairs of blocks"))
        if not rows:
            return text.append("\nnothing was toggled yet; 1-9 toggle a fix, x compares", "not bold")
        rows = [("fix", "before / after, 95 % interval", "slope before → after", ""), *rows]
        if max(self.app.size.width // (2 if self.has_class("-wide") else 1), 0) < 70:
            # Too narrow for columns: one toggle, two lines.
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
        text.append(self.spell(f"  {view.traces:,}, {spent} in all; the newest first"), "not bold")
        for trace in reversed(view.last_traces[-_LISTED:]):
            place = f"{trace.file.rsplit('/', 1)[-1]}:{trace.line}"
            line = f"\n{trace.function} #{trace.number}  {place}  {quantity(trace.wall / 1e9, 's')}"
            text.append(self.spell(line), "not bold")
            for reason in trace.reasons:
                change = f": {reason.before} → {reason.after}" if reason.before or reason.after else ""
                argument = f"{reason.argument}: " if reason.argument else ""
                text.append(self.spell(f"\n    {argument}{reason.cause}{change}"), "not bold italic")
        older = view.traces - min(view.traces, _LISTED, len(view.last_traces))
        return text.append(self.spell(f"\n… and {older:,} older ones") if older else "", "not bold")


def numbers(panel: PanelView, baseline: float | None, width: int, *, ascii: bool) -> Text:
    """The numbers, and at the right the verdict. What does not fit are the last of the numbers, and why."""
    if panel.now != panel.now:  # NaN
        return Text("nothing measured so far")
    trend = panel.trend
    sign = SIGNS.get(trend.direction if trend else "", "")
    parts = [f"now {quantity(panel.now, panel.unit)}"]
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
    scenario: Scenario | None,
    now: float,
    baseline: float | None = None,
) -> None:
    """The curve over seconds ago, with a mark and the number of the fix wherever one was toggled."""
    curve = panel.curve
    data = curve_data(panel, marks, baseline, lambda mark: mark_label(mark, scenario))
    span = len(curve.mid) * curve.width_ns / 1e9
    axis = XAxis(-span, 0.0, lambda value: f"-{duration(-value)}" if value < -0.5 else "now")
    chart.update(data, now, x_axis=axis)


def mark_label(mark: Mark, scenario: Scenario | None) -> str:
    """`+1 -2`: fix 1 went on, fix 2 off."""
    order = [fix.id for fix in scenario.fixes] if scenario else []
    return " ".join(
        f"{'+' if id in mark.fixes else '-'}{order.index(id) + 1 if id in order else id}"
        for id in sorted(mark.changed, key=lambda id: order.index(id) if id in order else 99)
    )


def _row(view: View, n: int, scenario: Scenario | None, *, memory: bool) -> tuple[str, str, str, str]:
    segment = view.segments[n]
    mark = segment.mark
    name = f"{mark_label(mark, scenario)} at iteration {mark.iteration:,}"
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
    return ratio, f"{describe_slope(effect.before)} → {describe_slope(effect.after)}"
