"""The app for a user's own script: streams and findings, the choice of the step, and leaving it running."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on, work
from textual.binding import Binding

from ..agent.protocol.events import ChooseStep, Ended, SetFixes
from ..agent.protocol.names import FIX_REFUSED, FIX_ROLLED_BACK
from ..diagnosis.finding import Finding
from ..scenario import Fix
from ..sources.script import ScriptSource
from ..state.view import View
from .base import WatchApp
from .exit_report import write_exit_report
from .finding_code import CodeCache, CodeKey, CodeRead, CodeWanted, FindingCode, code_key
from .frame import Frame
from .keys import (
    BASELINE_KEY,
    FIX_KEYS,
    FOCUS_KEY,
    HELP_KEY,
    HIDDEN_KEYS,
    MACHINE_KEY,
    OUTPUT_KEY,
    PAUSE_KEY,
    QUIT_KEY,
)
from .run_status import script_status
from .screens.detail import DetailScreen
from .screens.finding import FindingScreen
from .screens.help import AppHelp
from .screens.output import OutputScreen
from .screens.quit_dialog import Answer, QuitDialog
from .screens.script import ScriptScreen
from .widgets.fixes import Fixes
from .widgets.script.findings import FindingList
from .widgets.script.streams import StreamTable
from .widgets.script.verdict_card import VerdictCard

if TYPE_CHECKING:
    from ..run import Run


class ScriptApp(WatchApp):
    BINDINGS = [
        QUIT_KEY,
        HELP_KEY,
        *FIX_KEYS,
        PAUSE_KEY,
        Binding("r", "restart", "Restart", tooltip="Run the script again, once it has ended"),
        FOCUS_KEY,
        OUTPUT_KEY,
        MACHINE_KEY,
        BASELINE_KEY,
        *HIDDEN_KEYS,
    ]
    ABOUT = AppHelp(
        words=">        the step: its time is the latency curve\n"
        "time     share of the time since the stream's first call\n"
        "hidden   library functions; i shows them"
    )
    AFTER_OWN_ERROR = "\nThe script keeps running; press o to see its output."

    def __init__(
        self, make_source: Callable[[], ScriptSource], *, ascii: bool, readonly: bool = False
    ) -> None:
        self._codes: CodeCache = {}
        self._reading: set[CodeKey] = set()
        main = ScriptScreen(self._codes, ascii=ascii, readonly=readonly)
        super().__init__(main, ascii=ascii, readonly=readonly)
        self._main: ScriptScreen
        self._make_source = make_source
        self._script = make_source()
        self._exit_at_end = False
        self._requested: tuple[str, ...] = ()
        """Ids of the fixes that were switched on; the script may not have confirmed them yet."""
        self._answers: dict[str, int] = {}
        """By fix: how many of its answers have been shown."""
        self.exit_report = ""
        """What to print on the terminal when the app has gone: what it showed, and the last output."""
        self.farewell = ""
        """How to return to a script that keeps running; empty if it does not."""

    # The run

    def begin(self) -> None:
        self._start(self._script)

    def _start(self, script: ScriptSource) -> None:
        self.end_run()
        self._script = script
        self._view = None
        self._requested, self._answers = (), {}
        self._main.introduce(script.name)
        self.refresh_bindings()
        self.start_run(script, to_the_end=True)

    def let_go(self, run: Run) -> None:
        """Leave the script alone: it is stopped only when somebody asks for that."""
        if self.ended is None:
            run.leave()

    def pump_ended(self, run: Run) -> None:
        if run.analysed:
            self.exit_report = write_exit_report(self._script.name, self._script.argv, run.session)

    def view_shown(self) -> None:
        self._show_answers()
        if self.ended is not None and self._exit_at_end:
            self.exit()

    def _show_answers(self) -> None:
        """Show what became of the newest requests: a fix that was refused is no longer requested."""
        for offer in self._view.offers if self._view is not None else ():
            if self._answers.get(offer.id, 0) == offer.answers:
                continue
            if offer.id not in self._answers and not offer.answers:
                self.refresh_bindings()
            self._answers[offer.id] = offer.answers
            if offer.status in (FIX_REFUSED, FIX_ROLLED_BACK):
                self._requested = tuple(id for id in self._requested if id != offer.id)
                self.notify(f"{offer.status.capitalize()}: {offer.sentence}", severity="warning")

    @property
    def ended(self) -> Ended | None:
        """How the script ended, once it has."""
        return self._view.ended if self._view is not None else None

    @property
    def watched_pid(self) -> int | None:
        """The script's pid, if it was started."""
        return self._script.pid

    @property
    def script_code(self) -> int:
        """The script's exit code as a shell reports it; 0 while it runs."""
        ended = self.ended
        if ended is None:
            return 0
        return ended.code if ended.code >= 0 else 128 - ended.code

    # Showing

    @property
    def watched_title(self) -> str:
        return self._script.name

    def make_frame(self, view: View) -> Frame:
        name = self._script.name
        return Frame(view, name, name, self.status_now(), self._baselines, self._fixes, self._requested)

    @property
    def _fixes(self) -> tuple[Fix, ...]:
        """What can be toggled in the script, in the order of the keys."""
        return tuple(Fix(o.id, o.title) for o in self._view.offers) if self._view is not None else ()

    def describe_status(self, view: View | None, now: int) -> str:
        return "waiting for input" if self._main.card.kind == "asking" else script_status(view, now)

    def on_resize(self) -> None:
        super().on_resize()
        self._script.resize(max(4, self.size.height - 4), max(20, self.size.width - 2))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "restart" and (self.ended is None or self._readonly):
            return False
        if action == "fix" and not (isinstance(parameters[0], int) and parameters[0] <= len(self._fixes)):
            return False
        if action in ("fix", "all_off") and (self._readonly or self.ended is not None or not self._fixes):
            return False
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str:
        if isinstance(self.screen, FindingScreen) and (why := self.screen.why_not(action)):
            return why
        if action in ("restart", "choose", "type", "fix", "all_off") and self._readonly:
            return "Read-only: keys that change the run are off."
        if action == "restart":
            return "The script is still running; r restarts it once it has ended."
        if action in ("fix", "all_off") and self.ended is not None:
            return "The script has ended; r runs it again."
        if action in ("fix", "all_off"):
            return "There is no such fix." if self._fixes else "Nothing can be fixed in the running script."
        if action == "findings":
            return "There are no findings."
        if action == "choose":
            return "Select a stream first: tab goes to the list."
        return super().why_not(action)

    def action_fix(self, number: int) -> None:
        if number <= len(self._fixes):
            self._request({*self._requested} ^ {self._fixes[number - 1].id})

    def action_all_off(self) -> None:
        if self._requested:
            self._request(set())

    @on(Fixes.Toggle)
    def _fix_selected(self, event: Fixes.Toggle) -> None:
        if not self._readonly and self.ended is None:
            self._request({*self._requested} ^ {event.id})

    def _request(self, ids: set[str]) -> None:
        """Ask the script for these fixes and no others."""
        if self._run is None:
            return
        self._requested = tuple(fix.id for fix in self._fixes if fix.id in ids)
        self._run.source.send(SetFixes(self._requested))
        self._show()

    def describe_command(self, binding: Binding) -> tuple[str, str]:
        if not binding.action.startswith("fix("):
            return super().describe_command(binding)
        number = int(binding.action[4:-1])
        return f"Fix {number}: {self._fixes[number - 1].title}", f"Switch it on or off (key {number})"

    def action_restart(self) -> None:
        self._codes.clear()  # the files may have been edited since
        self._reading.clear()
        self._start(self._make_source())

    async def action_quit(self) -> None:
        """Quit; while the script runs, ask what should become of it. Asked twice, stop it."""
        if self._run is None or self.ended is not None:
            self.exit()
        elif isinstance(self.screen, QuitDialog):
            self.screen.action_answer("stop")
        else:
            self.push_screen(QuitDialog(self._script.name), self._quit_answered)

    def _quit_answered(self, answer: Answer | None) -> None:
        if answer == "detach":
            self.farewell = self._script.farewell()
            self.exit()
        elif answer == "stop":
            self._script.stop()
            self._exit_at_end = True
            self.view_shown()  # it may have ended while the dialog was open

    def action_output(self) -> None:
        self.open_screen(OutputScreen(ascii=self._ascii, typing=not self._readonly))

    @on(OutputScreen.Typed)
    def _type(self, event: OutputScreen.Typed) -> None:
        self._script.type(event.text)

    def _finding_screen(self, finding: Finding) -> FindingScreen:
        return FindingScreen(finding, self._codes, ascii=self._ascii, readonly=self._readonly)

    @on(FindingList.Opened)
    def _open_finding(self, event: FindingList.Opened) -> None:
        self.open_screen(self._finding_screen(event.finding))

    @on(VerdictCard.Opened)
    def _open_verdict(self, event: VerdictCard.Opened) -> None:
        if event.finding is not None:
            self.open_screen(self._finding_screen(event.finding))
        else:
            typing = not self._readonly
            now = typing and event.opens == "typing"
            self.open_screen(OutputScreen(ascii=self._ascii, typing=typing, typing_now=now))

    @on(CodeWanted)
    def _code_wanted(self, event: CodeWanted) -> None:
        key = code_key(event.finding)
        if key not in self._reading:
            self._reading.add(key)
            self._read_code(event.finding, key)

    @work(thread=True, group="code")
    def _read_code(self, finding: Finding, key: CodeKey) -> None:
        self.post_message(CodeRead(key, FindingCode.of(finding)))

    @on(CodeRead)
    def _code_read(self, event: CodeRead) -> None:
        self._codes[event.key] = event.code
        self._show()

    @on(StreamTable.Chosen)
    def _choose_step(self, event: StreamTable.Chosen) -> None:
        if self._run is None or self._view is None:
            return
        if not self._readonly:
            self._run.source.send(ChooseStep(event.stream))
        elif not any(s.is_step for s in self._view.streams if s.id == event.stream):
            self.notify("Read-only: the step cannot be changed, and only the step has curves.")
            return
        if event.opened:
            self.open_screen(DetailScreen("latency", ascii=self._ascii))
