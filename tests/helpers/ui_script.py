"""An attached script for the screens: what the agent said of a real run, played at once. No TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from paths import RECORDINGS
from recording import SUFFIX, load, with_paths
from ui_source import Played, freeze

from tfslowtop.agent.protocol.events import ChooseStep, Command, Ended, Event, Output, Reported, StepChosen
from tfslowtop.ui.script_app import ScriptApp

SECOND = 1_000_000_000


class Recorded(Played):
    """What a `ScriptSource` is to the app. It ends when it is told to."""

    def __init__(self, name: str = "", argv0: str = "", corpus: str = "/nowhere") -> None:
        """`name` of the recording; without one it is a script that never imports TensorFlow.

        `corpus` is the directory that its files are said to lie in; they can be read if they do.
        """
        records = load(RECORDINGS / f"{name}{SUFFIX}")[0] if name else []
        self._events: list[Event] = [
            with_paths(r.event, [("/corpus", corpus)]) for r in records if not isinstance(r.event, Ended)
        ]
        self.now = max((r.at for r in records), default=SECOND)
        if name:  # recordings are older than the reports that close an account
            self._events = [Reported(1), *self._events, Reported(self.now), Reported(self.now)]
        self.name = argv0 or f"{name or 'plain'}.py"
        self.argv = (self.name,)
        self.sent: list[Command] = []
        self.typed = ""
        self.stopped = False

    def put(self, *events: Event) -> None:
        self._events += events

    def end(self, code: int = 0, how: str = "The script ended.", output: str = "") -> None:
        self.put(*([Output(output)] if output else []), Ended(code, how, self.now))

    # What a source is

    def events(self, timeout: float) -> Sequence[Event]:
        taken, self._events = self._events, []
        return taken

    def send(self, command: Command) -> None:
        self.sent.append(command)
        if isinstance(command, ChooseStep):
            self.put(StepChosen(command.stream, "chosen by the user", self.now))

    def stop(self) -> None:
        self.stopped = True
        self.end(130, "The script was stopped; its exit code is 130.")

    def farewell(self) -> str:
        return "it runs on"

    def resize(self, rows: int, columns: int) -> None:
        pass

    def type(self, text: str) -> None:
        self.typed += text


def app(monkeypatch: pytest.MonkeyPatch, source: Recorded, **options: bool) -> ScriptApp:
    freeze(monkeypatch, source)
    return ScriptApp(lambda: source, **{"ascii": False, **options})  # type: ignore[arg-type, return-value]
