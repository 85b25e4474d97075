"""The app on somebody's own script: the same panels, with the script's streams in place of fixes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual import on
from textual.binding import Binding

from ..agent.protocol.events import ChooseStep, Ended
from ..catalogue.find import Entry
from ..sources.script import ScriptSource
from ..sources.source import Source
from .scenario_app import Options, ScenarioApp
from .screens.detail import DetailScreen
from .screens.finding import CodeCache, FindingScreen
from .screens.output import OutputScreen
from .screens.script import LeaveScreen, ScriptScreen
from .widgets.script.findings import FindingList
from .widgets.script.streams import StreamTable

#: What belongs to scenarios only.
_NOT_HERE = frozenset({"fix", "all_off", "compare", "search", "code", "parameters", "leave"})


class ScriptApp(ScenarioApp):
    BINDINGS = [Binding("r", "restart", "Restart", tooltip="Run the script again, once it has ended")]

    def __init__(
        self, make_source: Callable[[], ScriptSource], *, ascii: bool, readonly: bool = False
    ) -> None:
        source = make_source()
        entry = Entry(source.name, Path(source.name), None)
        super().__init__(Options([entry], entry, ascii=ascii, readonly=readonly))
        self._make_source = make_source
        self._script: ScriptSource = source
        self._leaving = False
        self._codes: CodeCache = {}
        self.farewell = ""

    def make_main(self) -> ScriptScreen:
        return ScriptScreen(ascii=self._options.ascii, readonly=self._options.readonly)

    def reload(self, entry: Entry) -> Entry:
        return entry

    def _source(self, entry: Entry, fixes: tuple[str, ...]) -> Source:
        if self._number > 1:
            self._script = self._make_source()
            self._codes.clear()  # the files may have been edited since
        return self._script

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _NOT_HERE:
            return False
        if action == "restart":
            return self._over() and not self._readonly
        return super().check_action(action, parameters)

    def _over(self) -> bool:
        return self.ended is not None

    @property
    def ended(self) -> Ended | None:
        return self._view.ended if self._view is not None else None

    @property
    def watched_pid(self) -> int | None:
        """The script's, if it was started."""
        return self._script.pid

    @property
    def script_code(self) -> int:
        """The script's exit code, once it has ended; as a shell says it when a signal ended it."""
        ended = self.ended
        if ended is None:
            return 0
        return ended.code if ended.code >= 0 else 128 - ended.code

    def end_run(self) -> None:
        """Leaves the script alone: only who asks for it stops it."""
        if self._run is not None and not self._over():
            self._run.leave()
        self._run = None

    async def action_quit(self) -> None:
        if self._run is None or self._over():
            self.exit()
        elif not isinstance(self.screen, LeaveScreen):
            self.push_screen(LeaveScreen(self._script.name), self._answered)

    def _answered(self, answer: str | None) -> None:
        if answer == "detach":
            self.farewell = self._script.farewell()
            self.exit()
        elif answer == "stop":
            self._script.stop()
            self._leaving = True

    def _show(self) -> None:
        super()._show()
        if self._over() and self._leaving:
            self.exit()

    def on_resize(self) -> None:
        self._script.resize(max(4, self.size.height - 4), max(20, self.size.width - 2))

    def action_output(self) -> None:
        self._open(OutputScreen(ascii=self._ascii, typing=not self._readonly))

    @on(OutputScreen.Typed)
    def _type(self, event: OutputScreen.Typed) -> None:
        self._script.type(event.text)

    @on(FindingList.Opened)
    def _open_finding(self, event: FindingList.Opened) -> None:
        self._open(FindingScreen(event.finding, self._codes, ascii=self._ascii))

    @on(StreamTable.Chosen)
    def _choose_step(self, event: StreamTable.Chosen) -> None:
        if self._run is None or self._view is None:
            return
        if not self._readonly:
            self._run.source.send(ChooseStep(event.stream))
        elif not any(s.is_step for s in self._view.streams if s.id == event.stream):
            self.notify("Read-only: the step stays what it is, and only the step has curves.")
            return
        if event.opened:
            self._open(DetailScreen("latency", ascii=self._ascii))
