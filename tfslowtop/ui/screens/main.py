"""Base of the two main screens: headline, panels with curves, what went wrong, status line and footer."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from ...agent.protocol.events import Failed
from ...agent.protocol.names import (
    GAUGE_CPU_SECONDS,
    GAUGE_EAGER_OPS,
    GAUGE_GC_COLLECTIONS,
    GAUGE_GC_SECONDS,
    GAUGE_MACHINE_CPUS,
    GAUGE_RSS,
    GAUGE_RUN_EAGERLY,
    GPU_LOST,
    GPU_MEMORY,
    GPU_PREFIX,
    TF_GPU_PREFIX,
    gpu_gauge,
    tf_gpu_gauge,
)
from ...scenario import ScenarioError
from ...state.view import View
from ..format import headline, plain_text
from ..frame import Frame
from ..run_status import status_line
from ..widgets.account_bar import AccountBar
from ..widgets.charts.panel import Panel, panel_title
from ..widgets.charts.panel_grid import PanelGrid
from ..widgets.footer import KeyFooter
from ..widgets.machine.gpus import gpus_of, shown_gpu, used_of_total
from ..widgets.machine.meter_line import meter_line
from .detail import mark_label
from .terminal_size import SMALLEST, LatestSizeOnly, TooSmallNotice, is_too_small

#: The panels that are always there; those of the target's own gauges come after them.
STANDARD_PANELS = ("latency", GAUGE_RSS, "gpu", "retraces")

#: Gauges that are for the diagnosis and the JSON only.
_WITHOUT_PANEL = frozenset(
    {GAUGE_CPU_SECONDS, GAUGE_GC_SECONDS, GAUGE_GC_COLLECTIONS, GAUGE_EAGER_OPS, GAUGE_RUN_EAGERLY}
)

#: Seconds between two headlines: the iteration count always changes, and once a second shows that it lives.
_HEADLINE_EVERY = 0.95


class MainScreen(LatestSizeOnly, Screen[None]):
    class Resumed(Message):
        """The screen is on top again and still shows what it showed when another one covered it."""

    #: The panel that gets a row of its own.
    LEAD = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (SMALLEST[1], "-low"), (22, "-middle"), (32, "-tall")]

    def __init__(self, *, ascii: bool) -> None:
        super().__init__(classes="-ascii" if ascii else None)
        self._ascii = ascii
        self._headline = Static(id="headline", markup=False)
        self._status = Static(id="status", markup=False)
        self._failure = Static(id="failure-text", markup=False)
        self._too_small = TooSmallNotice()
        self._panels = {name: Panel(name, ascii=ascii) for name in STANDARD_PANELS}
        self._extra_panels: dict[str, Panel] = {}
        self._grid = PanelGrid(*self._panels.values(), lead=self.LEAD, id="panels")
        self._telling: set[str] = set()
        """Panels that had something to say since the run began."""
        self._growing: set[str] = set()
        """Panels whose curve rose at some time since then: they tell more than those of a level."""
        self._machine = Static(id="machine-line", markup=False)
        self.account = AccountBar(ascii=ascii)
        self._gpu = ""
        """The label of the device that the GPU panel shows."""
        self._written: dict[Static, str] = {}
        self._headline_written: tuple[object, float] = ("", 0.0)
        self._headline_parts = ("", "")

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield from self.compose_side()
            with Vertical(id="main"):
                yield self._headline
                yield from self.compose_above()
                yield self._grid
                yield self._machine
                with VerticalScroll(id="failure", classes="-hidden"):
                    yield self._failure
                yield from self.compose_below()
        yield self._status
        yield self._too_small
        yield KeyFooter()

    def compose_side(self) -> ComposeResult:
        """Yield what stands at the left of everything."""
        yield from ()

    def compose_above(self) -> ComposeResult:
        """Yield what stands between the headline and the panels."""
        yield from ()

    def compose_below(self) -> ComposeResult:
        """Yield what stands below the panels."""
        yield from ()

    def on_screen_resume(self) -> None:
        self.post_message(self.Resumed())

    def on_resize(self) -> None:
        self._too_small.show_size(self.app.size)
        # Nothing that cannot be seen has the focus, or enter would act on it.
        self.query_one("#body").disabled = is_too_small(self.app.size)
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        if not is_too_small(self.app.size):
            self.settle_focus()
        self.headline(*self._headline_parts)

    def settle_focus(self) -> None:
        """Give the focus to something visible if nothing visible has it."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not is_too_small(self.app.size)

    # Showing

    def show(self, frame: Frame) -> None:
        view, now = frame.view, time.monotonic()
        for panel_view in view.panels:
            panel = self._panel(panel_view.name)
            if panel is not None:
                if (panel_view.curve.hi > 0).any():
                    self._telling.add(panel_view.name)
                if panel_view.trend is not None and panel_view.trend.direction == "rising":
                    self._growing.add(panel_view.name)
                baseline = frame.baselines.get(panel_view.name)
                panel.show(
                    panel_view,
                    view.marks,
                    now,
                    baseline,
                    label=lambda mark: mark_label(mark, frame.fixes),
                    is_mixed=view.newest_comparison is not None,
                )
        self._show_gpu(view, now, frame.baselines)
        self._grid.want(self._wanted(view))
        self._show_machine(view)
        self.show_rest(frame)
        if view.failure is not None:
            self.fail(view.failure)

    def telling_curve(self, view: View) -> str:
        """Return the curve that has to be seen on the smallest screen, too."""
        return "latency"

    def _wanted(self, view: View) -> list[str]:
        """Return the panels that have something to say, the most telling first."""
        first = dict.fromkeys((self.telling_curve(view), "latency"))
        shares = [panel.name for panel in view.panels if panel.unit == "%"]
        own = [name for name in self._extra_panels if name not in shares]
        growing = [name for name in own if name in self._growing]
        order = [*first, *growing, GAUGE_RSS, "gpu", "retraces", *own, *shares]
        telling = self._telling | self.always_shown(view)
        return [name for name in dict.fromkeys(order) if name in telling]

    def always_shown(self, view: View) -> set[str]:
        """Return the panels that have a place even when there is nothing to say yet."""
        return {"latency"}

    def _show_machine(self, view: View) -> None:
        rest = "no retraces" if view.iterations and "retraces" not in self._telling else ""
        width = self._machine.size.width or 80
        # A program that has ended uses nothing, and what others use says nothing about it.
        self._machine.set_class(GAUGE_MACHINE_CPUS not in view.readings or view.ended is not None, "-hidden")
        self._write(self._machine, meter_line(view, self._gpu, width, ascii=self._ascii, rest=rest))

    def show_rest(self, frame: Frame) -> None:
        """Show what is not in the panels."""

    def _show_gpu(self, view: View, now: float, baselines: Mapping[str, float]) -> None:
        """Show the one device that the target uses; the machine screen has them all."""
        panel = self._panels["gpu"]
        self._gpu = shown_gpu(view, self._gpu)
        shown = view.panel(gpu_gauge(self._gpu, GPU_MEMORY))
        if shown is None or view.no_gpu:
            self._telling.discard("gpu")
            return
        self._telling.add("gpu")
        count = len(gpus_of(view))
        panel.heading = f"GPU {self._gpu} of {count}, memory" if count > 1 else panel_title("gpu")
        lost = view.readings.get(gpu_gauge(self._gpu, GPU_LOST))
        note = "it has fallen off the bus" if lost else ""
        baseline = baselines.get(shown.name)
        used, _, share = used_of_total(view, self._gpu).rstrip(")").partition(" (")
        panel.show(shown, view.marks, now, baseline, note, (used, share) if share else (used,))

    def quantity_of(self, panel: str) -> str:
        """Return the quantity that a panel shows: `gpu` shows one GPU's memory."""
        return gpu_gauge(self._gpu, GPU_MEMORY) if panel == "gpu" else panel

    @property
    def curve_columns(self) -> int:
        """The number of columns that a curve has."""
        return self._panels["latency"].columns or self.app.size.width

    def has_panel(self, gauge: str) -> bool:
        """Return whether a gauge of the target's own gets a panel."""
        return gauge not in _WITHOUT_PANEL

    def _panel(self, name: str) -> Panel | None:
        if name in self._panels:
            return self._panels[name]
        # The GPUs share a panel; of TensorFlow's allocator the first device stands for all.
        shared = name.startswith((GPU_PREFIX, TF_GPU_PREFIX)) and name != tf_gpu_gauge(0, "memory")
        if shared or not self.has_panel(name):
            return None
        if name not in self._extra_panels:
            self._extra_panels[name] = Panel(name, ascii=self._ascii)
            self._extra_panels[name].display = False  # until the grid has a place for it
            self._grid.mount(self._extra_panels[name])
        return self._extra_panels[name]

    def clear_panels(self) -> None:
        for panel in self._extra_panels.values():
            panel.remove()
        self._extra_panels.clear()
        self._gpu = ""
        self._telling.clear()
        self._growing.clear()
        for panel in self._panels.values():
            panel.clear()

    def headline(self, title: str, status: str) -> None:
        self._headline_parts = (title, status)
        width = self._headline.size.width or 80
        kind, now = (title, status.split(" ")[0], width), time.monotonic()
        if kind == self._headline_written[0] and now - self._headline_written[1] < _HEADLINE_EVERY:
            return
        self._headline_written = (kind, now)
        self._write(self._headline, headline(title, status, width, ascii=self._ascii))

    def status(self, view: View | None, own_cpu: float) -> None:
        width = (self._status.size.width or 80) - 2
        self._write(self._status, Text(status_line(view, own_cpu, width), no_wrap=True, overflow="ellipsis"))

    def fail(self, failure: Failed | ScenarioError | str | None) -> None:
        """Show what went wrong in place of the panels; None shows the panels again."""
        # `query`, not `query_one`: a last view may come while the app closes and the panels have gone.
        self.query("#panels").set_class(failure is not None, "-hidden")
        self.query("#failure").set_class(failure is None, "-hidden")
        if failure is not None:
            self._write(self._failure, _describe_failure(failure))

    def _write(self, widget: Static, text: Text) -> None:
        """Update a widget, unless it shows this text already."""
        if self._ascii:
            text = plain_text(text)
        if self._written.get(widget) != text.plain:
            self._written[widget] = text.plain
            widget.update(text, layout=widget is self._failure)


def _describe_failure(failure: Failed | ScenarioError | str) -> Text:
    if isinstance(failure, str):
        return Text(failure)
    place = f"{failure.file}:{failure.line}" if failure.line else failure.file
    text = Text()
    text.append(failure.message + "\n", "bold")
    text.append(place + "\n\n")
    if isinstance(failure, Failed) and failure.traceback:
        text.append(failure.traceback + "\n")
    text.append("Fix the file, then press r.")
    return text
