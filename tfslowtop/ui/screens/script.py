"""The main screen of the script app: a summary, curves of the step, findings, and the streams."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Size

from ...state.view import View
from ..frame import Frame
from ..widgets.script.findings import FindingList
from ..widgets.script.streams import StreamTable
from ..widgets.script.summary import Summary, crash_lines, summarise
from .main import MainScreen

#: The gauges of a script that get a curve; the others are for the diagnosis and the JSON.
_GAUGES_WITH_PANEL = frozenset(
    {"graph ops", "open sessions", "tensors kept", "Python ops", "waiting for data"}
)
#: Seconds between two versions of the lists: people read them slowly.
_LISTS_EVERY = 0.9


class ScriptScreen(MainScreen):
    AUTO_FOCUS = "#stream-list"
    BINDINGS = [
        Binding("d", "findings", "Findings", tooltip="Go to the findings; enter opens one"),
        Binding("o", "app.output", "Output", tooltip="Show the script's output"),
        Binding("i", "internal", "Internal", show=False, tooltip="Show or hide library functions"),
    ]

    def __init__(self, *, ascii: bool, readonly: bool) -> None:
        super().__init__(ascii=ascii)
        self._summary = Summary(ascii=ascii)
        self.findings = FindingList(ascii=ascii)
        self.findings.display = False
        self.table = StreamTable(ascii=ascii, readonly=readonly)
        self._listed: tuple[View | None, Size, float] = (None, Size(), 0.0)

    def has_panel(self, gauge: str) -> bool:
        return gauge in _GAUGES_WITH_PANEL

    def compose_above(self) -> ComposeResult:
        yield self._summary

    def compose_below(self) -> ComposeResult:
        yield self.findings
        yield self.table

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "findings" and not self.findings.display:
            return False
        return super().check_action(action, parameters)

    def action_internal(self) -> None:
        self.table.toggle_internal()

    def action_findings(self) -> None:
        self.findings.focus()

    def settle_focus(self) -> None:
        if self.focused is None:
            self.table.list.focus()

    def introduce(self, name: str) -> None:
        """Show a script that is about to start."""
        self.clear_panels()
        self.fail(None)
        self.remove_class("-crashed")
        self.headline(name, "starting …")

    def show_rest(self, frame: Frame) -> None:
        view = frame.view
        before, size, when = self._listed
        now = time.monotonic()
        if size == self.size and (view is before or now - when < _LISTS_EVERY):
            return
        self._listed = (view, self.size, now)
        self.table.show(view.streams)
        self.findings.show(view.findings)
        self.set_class(bool(crash_lines(view)), "-crashed")
        self._summary.show(summarise(view))
