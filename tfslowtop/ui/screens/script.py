"""The main screen of an attached script: curves of its step, and the streams that repeat."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Static

from ...analysis.view import View
from ...catalogue import Entry
from ..widgets.findings import FindingList
from ..widgets.streams import StreamTable
from .main import MainScreen

#: Of what the agent counts in a script, what is worth a curve; the rest is for the diagnosis and the JSON.
WORTH_A_CURVE = frozenset({"graph ops", "open sessions", "tensors kept", "Python ops", "waiting for data"})
#: Seconds between two versions of the lists: a person reads them slowly.
_LISTS_EVERY = 0.9


class ScriptScreen(MainScreen):
    AUTO_FOCUS = "#stream-list"
    BINDINGS = [Binding("d", "findings", "Findings", tooltip="To what is wrong; enter opens it")]

    def __init__(self, *, ascii: bool) -> None:
        super().__init__((), ascii=ascii)
        self.findings = FindingList(ascii=ascii)
        self.table = StreamTable(ascii=ascii)
        self._listed: tuple[tuple[int, Size], float] = ((0, Size()), 0.0)

    def wants(self, name: str) -> bool:
        return name in WORTH_A_CURVE

    def compose_side(self) -> ComposeResult:
        yield from ()

    def compose_below(self) -> ComposeResult:
        yield self.findings
        yield self.table

    def action_findings(self) -> None:
        if self.findings.display:
            self.findings.focus()

    def settle_focus(self) -> None:
        if self.focused is None:
            self.table.list.focus()

    def point_at(self, id: str) -> None:
        pass

    def mark_running(self, id: str) -> None:
        pass

    def introduce(self, entry: Entry) -> None:
        self.clear_panels()
        self.fail(None)
        self.headline(entry.title, "starting …")

    def show_rest(self, view: View, entry: Entry, wanted: tuple[str, ...]) -> None:
        key, now = (view.at, self.size), time.monotonic()
        if key == self._listed[0] or (key[1] == self._listed[0][1] and now - self._listed[1] < _LISTS_EVERY):
            return
        self._listed = (key, now)
        self.table.show(view.streams)
        self.findings.show(view.findings)
        lines = [_about_the_step(view)]
        if not any(f.cause.startswith(("retrace", "function")) for f in view.findings):
            lines += view.retraced[:1]  # too little for a finding, but the panel counts it: why is said here
        if not view.findings and view.healthy and view.iterations:
            lines.insert(0, view.healthy)
        self.card.say("\n".join([*lines, *view.notes[-2:]]))


def _about_the_step(view: View) -> str:
    step = next((s for s in view.streams if s.is_step), None)
    if step is None:
        return "No step found yet: nothing has repeated often enough." if view.tensorflow else ""
    place = f" ({step.file.rsplit('/', 1)[-1]}:{step.line})" if step.file else ""
    why = f": {view.step_why}" if view.step_why else ""
    return f"The step is {step.name}{place}{why}. S on another line makes that the step."


class LeaveScreen(ModalScreen[str]):
    """The script still runs: what shall become of it?"""

    BINDINGS = [
        Binding("s", "answer('stop')", "Stop it"),
        Binding("d", "answer('detach')", "Let it run on"),
        Binding("escape,q", "answer('')", "Stay", key_display="esc"),
    ]

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name_of_script = name

    def compose(self) -> ComposeResult:
        with Vertical(id="leave"):
            yield Static(
                f"{self._name_of_script} still runs.\n\n"
                "  s    stop it (as Ctrl-C does)\n"
                "  d    let it run on (--reattach comes back)\n"
                "  esc  stay",
                markup=False,
            )

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer)
