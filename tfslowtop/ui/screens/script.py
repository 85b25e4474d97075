"""The main screen of an attached script: curves of its step, and the streams that repeat."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Static

from ...catalogue.find import Entry
from ...state.view import View
from ..output_text import lines
from ..widgets.script.findings import FindingList
from ..widgets.script.streams import StreamTable, name_of
from .main import MainScreen
from .terminal_size import FitsTerminal

#: Of what the agent counts in a script, what is worth a curve; the rest is for the diagnosis and the JSON.
WORTH_A_CURVE = frozenset({"graph ops", "open sessions", "tensors kept", "Python ops", "waiting for data"})
#: Seconds between two versions of the lists: a person reads them slowly.
_LISTS_EVERY = 0.9


class ScriptScreen(MainScreen):
    AUTO_FOCUS = "#stream-list"
    is_script = True
    BINDINGS = [
        Binding("d", "findings", "Findings", tooltip="To what is wrong; enter opens it"),
        Binding("o", "app.output", "Output", tooltip="What the script writes itself"),
        Binding("i", "internal", "Internal", show=False, tooltip="Show or hide the libraries' own functions"),
    ]

    def __init__(self, *, ascii: bool, readonly: bool = False) -> None:
        super().__init__((), ascii=ascii)
        self.findings = FindingList(ascii=ascii)
        self.findings.display = False
        self.table = StreamTable(ascii=ascii, readonly=readonly)
        self._listed: tuple[View | None, Size, float] = (None, Size(), 0.0)

    def wants(self, name: str) -> bool:
        return name in WORTH_A_CURVE

    def compose_side(self) -> ComposeResult:
        yield from ()

    def compose_below(self) -> ComposeResult:
        yield self.findings
        yield self.table

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "findings" or self.findings.display

    def action_internal(self) -> None:
        self.table.toggle_internal()

    def action_findings(self) -> None:
        self.findings.focus()

    def settle_focus(self) -> None:
        if self.focused is None:
            self.table.list.focus()

    def mark_running(self, id: str) -> None:
        pass

    def introduce(self, entry: Entry) -> None:
        self.clear_panels()
        self.fail(None)
        self.remove_class("-crashed")
        self.headline(entry.title, "starting …")

    def show_rest(self, view: View, entry: Entry, wanted: tuple[str, ...]) -> None:
        before, size, when = self._listed
        now = time.monotonic()
        if size == self.size and (view is before or now - when < _LISTS_EVERY):
            return
        self._listed = (view, self.size, now)
        self.table.show(view.streams)
        self.findings.show(view.findings)
        crash = _crash(view)
        self.set_class(bool(crash), "-crashed")
        said = [*crash, _about_the_step(view)]
        if not any(f.cause.startswith(("retrace", "function")) for f in view.findings):
            said += view.retraced[:1]  # too little for a finding, but the panel counts it: why is said here
        if not (view.findings or view.retraced or crash) and (view.iterations or not view.tensorflow):
            said.insert(0, view.healthy)
        self.card.say("\n".join(line for line in [*said, *view.notes[-2:]] if line))


def _about_the_step(view: View) -> str:
    step = next((s for s in view.streams if s.is_step), None)
    if step is None and view.tensorflow:
        return "No step found yet: nothing has repeated often enough."
    if step is None:
        found = "Steps are found once TensorFlow is imported, or where tfslowtop.step() marks them."
        return "" if view.ended else f"{found} o shows the output, m the CPU."
    place = f" ({step.file.rsplit('/', 1)[-1]}:{step.line})" if step.file else ""
    why = f": {view.step_why}" if view.step_why else ""
    return f"The step is {name_of(step)}{place}{why}. S on another line makes that the step."


def _crash(view: View) -> list[str]:
    """What an exception said last, once it has ended the script."""
    if view.ended is None or view.ended.code <= 0 or "Traceback (most recent call last)" not in view.output:
        return []
    last = next((line for line in reversed(lines(view.output, 20)) if line.strip()), "")
    return [last, "o shows the traceback."]


class LeaveScreen(FitsTerminal, ModalScreen[str]):
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
                "s    stop it, as Ctrl-C does\n"
                "d    leave it running; tfslowtop --reattach comes back to it\n"
                "esc  stay here",
                markup=False,
            )

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer)
