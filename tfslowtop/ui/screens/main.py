"""The main screen: scenarios at the left, curves and fixes at the right."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from ...agent.protocol.events import Failed
from ...catalogue.find import Entry
from ...scenario import Scenario, ScenarioError
from ...state.verdict import live
from ...state.view import View
from ...stats.effect import sentence
from ..format import headline, plain_text
from ..run_status import status
from ..widgets.charts.panel import Panel, title
from ..widgets.footer import Keys
from ..widgets.machine.gpus import gpus_of, shown_gpu, used_of_total
from ..widgets.scenario.card import Card
from ..widgets.scenario.catalogue import Catalogue
from ..widgets.scenario.fixes import Fixes
from .live import SMALLEST
from .terminal_size import FitsTerminal

#: The panels that are always there; what the running thing adds comes after them.
FIXED = ("latency", "rss", "gpu", "retraces")

#: Seconds between two headlines: the count of iterations always changes; a look a second shows that it lives.
_HEADLINE_EVERY = 0.95


class MainScreen(FitsTerminal, Screen[None]):
    class Resumed(Message):
        """It is on top again, and shows what it showed when it was left."""

    AUTO_FOCUS = "#scenarios"
    is_script = False
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (SMALLEST[1], "-low"), (22, "-middle"), (32, "-tall")]

    def __init__(
        self, entries: Sequence[Entry], first: Entry | None = None, *, ascii: bool, readonly: bool = False
    ) -> None:
        """`first` is what is looked at first."""
        super().__init__(classes="-ascii" if ascii else None)
        self._ascii = ascii
        self._first = first
        self._headline = Static(id="headline", markup=False)
        self._status = Static(id="status", markup=False)
        self._trouble = Static(id="trouble", markup=False)
        self._panels = {name: Panel(name, ascii=ascii) for name in FIXED}
        self._extra: dict[str, Panel] = {}
        self.gpu = ""
        """The label of the device that the panel shows."""
        self.catalogue = Catalogue(entries, first.id if first else "", ascii=ascii, readonly=readonly)
        self.card = Card(ascii=ascii)
        self.fixes = Fixes(ascii=ascii)
        self._texts: dict[Static, str] = {}
        self._headlined: tuple[object, float] = ("", 0.0)
        self._head = ("", "")

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield from self.compose_side()
            with Vertical(id="main"):
                yield self._headline
                yield self.card
                with Vertical(id="panels"):
                    yield from self._panels.values()
                with VerticalScroll(id="failure"):
                    yield self._trouble
                yield from self.compose_below()
        yield self._status
        yield Static(id="too-small", markup=False)
        yield Keys()

    def compose_side(self) -> ComposeResult:
        yield self.catalogue

    def compose_below(self) -> ComposeResult:
        yield self.fixes

    def on_mount(self) -> None:
        self._panels["gpu"].set_class(True, "-folded")
        self.query_one("#failure").display = False
        if self._first is not None:
            self.introduce(self._first)  # here, so that the first picture has it

    def on_screen_resume(self) -> None:
        self.post_message(self.Resumed())

    def on_resize(self) -> None:
        width, height = self.app.size
        needed = f"{SMALLEST[0]}x{SMALLEST[1]}"
        self.query_one("#too-small", Static).update(
            f"tfslowtop needs {needed} characters.\nThis terminal has {width}x{height}."
        )
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        self.settle_focus()
        self.headline(*self._head)

    def settle_focus(self) -> None:
        """Where the list is hidden, the keys belong to the fixes."""
        hidden = not self.catalogue.display and self.catalogue.has_focus_within
        if self.focused is None or hidden:
            (self.catalogue.list if self.catalogue.display else self.fixes).focus()

    # What is shown

    def introduce(self, entry: Entry) -> None:
        """Another scenario is looked at; nothing runs yet."""
        self.card.describe(entry)
        self.fixes.offer(entry.scenario.fixes if entry.scenario else ())
        self.clear_panels()
        self.fail(entry.error)
        self.headline(entry.title, "" if entry.error else "enter starts it")

    def mark_running(self, id: str) -> None:
        self.catalogue.mark_running(id)
        if self.has_class("-listing"):  # it was open and something else has started this
            self.close_list()

    def clear_panels(self) -> None:
        for panel in self._extra.values():
            panel.remove()
        self._extra.clear()
        self.gpu = ""
        self._panels["gpu"].set_class(True, "-folded")
        for panel in self._panels.values():
            panel.clear()

    def headline(self, title: str, words: str) -> None:
        self._head = (title, words)
        width = self._headline.size.width or 80
        kind, now = (title, words.split(" ")[0], width), time.monotonic()
        if kind == self._headlined[0] and now - self._headlined[1] < _HEADLINE_EVERY:
            return
        self._headlined = (kind, now)
        self._say(self._headline, headline(title, words, width, ascii=self._ascii))

    def show(
        self,
        view: View,
        entry: Entry,
        wanted: tuple[str, ...],
        baselines: Mapping[str, float],
    ) -> None:
        now = time.monotonic()
        for panel_view in view.panels:
            panel = self._panel(panel_view.name)
            if panel is not None:
                panel.show(panel_view, view.marks, now, baselines.get(panel_view.name))
        self._show_gpu(view, now, baselines)
        self.show_rest(view, entry, wanted)
        if view.failure is not None:
            self.fail(view.failure)

    def _show_gpu(self, view: View, now: float, baselines: Mapping[str, float]) -> None:
        """One device: the one that the target uses. The screen of the machine has all of them."""
        panel = self._panels["gpu"]
        self.gpu = shown_gpu(view, self.gpu)
        shown = view.panel(f"gpu.{self.gpu}.memory")
        panel.set_class(shown is None or bool(view.no_gpu), "-folded")
        if shown is None or view.no_gpu:
            panel.say((), note=view.no_gpu or "looking for one …")
            return
        count = len(gpus_of(view))
        panel.heading = f"GPU {self.gpu} of {count}, memory" if count > 1 else title("gpu")
        lost = view.readings.get(f"gpu.{self.gpu}.lost")
        note = "it has fallen off the bus" if lost else ""
        baseline = baselines.get(shown.name)
        panel.show(shown, view.marks, now, baseline, note, used_of_total(view, self.gpu))

    def show_rest(self, view: View, entry: Entry, wanted: tuple[str, ...]) -> None:
        """The card and the fixes."""
        if entry.scenario is not None:
            self.card.measured(_measured(view, entry.scenario))
        self.fixes.show(view.fixes, wanted, view.segments)

    def wants(self, name: str) -> bool:
        """Whether a gauge of the target's own has a panel: a scenario's have."""
        return True

    def _panel(self, name: str) -> Panel | None:
        if name in self._panels:
            return self._panels[name]
        # The GPUs share a panel; of TensorFlow's allocator the first device stands for all.
        shared = name.startswith(("gpu.", "tf.gpu.")) and name != "tf.gpu.0.memory"
        if shared or not self.wants(name):
            return None
        if name not in self._extra:
            self._extra[name] = Panel(name, ascii=self._ascii)
            self._extra[name].add_class("-extra")
            self.query_one("#panels").mount(self._extra[name])
        return self._extra[name]

    def status(self, view: View | None, own_cpu: float) -> None:
        width = (self._status.size.width or 80) - 2
        self._say(self._status, Text(status(view, own_cpu, width), no_wrap=True, overflow="ellipsis"))

    def fail(self, failure: Failed | ScenarioError | str | None) -> None:
        """Shows what went wrong in the place of the curves; None takes it away."""
        # All of none, while the app closes: a last view may come when the panels are gone.
        self.query("#panels").set(display=failure is None)
        self.query("#failure").set(display=failure is not None)
        if failure is not None:
            self._say(self._trouble, _trouble(failure))

    def _say(self, widget: Static, text: Text) -> None:
        """Writes a text, if it is not the one that stands there."""
        if self._ascii:
            text = plain_text(text)
        if self._texts.get(widget) != text.plain:
            self._texts[widget] = text.plain
            widget.update(text, layout=widget is self._trouble)

    @on(Catalogue.Chosen)
    def _close_list(self, event: Catalogue.Chosen) -> None:
        if event.run:
            self.close_list()

    def open_list(self) -> None:
        self.add_class("-listing")
        self.catalogue.search()

    def close_list(self) -> None:
        self.remove_class("-listing")
        self.catalogue.search_no_more()
        (self.catalogue.list if self.has_class("-wide") else self.fixes).focus()


def _measured(view: View, scenario: Scenario) -> str:
    """The verdict by now, and what the A/B says."""
    words = live(view, scenario.base, scenario.cured_by).words
    comparison = view.comparison
    if comparison is None or not (comparison.running or comparison.effect):
        return words
    # The slopes are in the verdict.
    effect = sentence(comparison.effect).partition(", slope")[0] if comparison.effect else "…"
    return f"A/B: {effect}; {words}" if comparison.effect else f"A/B: {effect}"


def _trouble(failure: Failed | ScenarioError | str) -> Text:
    if isinstance(failure, str):
        return Text(failure)
    place = f"{failure.file}:{failure.line}" if failure.line else failure.file
    text = Text()
    text.append(failure.message + "\n", "bold")
    text.append(place + "\n\n")
    if isinstance(failure, Failed) and failure.traceback:
        text.append(failure.traceback + "\n")
    text.append("Mend the file and press r to run it again.")
    return text
