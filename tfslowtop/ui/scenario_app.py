"""The app for the catalogue: starting scenarios, their fixes, A/B tests, parameters, and the tour."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.binding import Binding
from textual.widgets import Input

from ..agent.protocol.events import Compare, SetFixes, SetParams
from ..catalogue.find import Entry, load
from ..catalogue.measured import read_measured, write_measured
from ..catalogue.search import by_symptom
from ..export.wording import counted
from ..scenario import Fix
from ..sources.source import Source
from ..state.view import View
from .base import WatchApp
from .frame import Frame
from .keys import (
    ACCOUNT_KEY,
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
from .measure import measure
from .options import Options as Options
from .run_status import scenario_status
from .screens.code import CodeScreen
from .screens.help import AppHelp, action_name
from .screens.params import ParamsScreen
from .screens.scenario import ScenarioScreen
from .tour import Start, Switch, Tour, scenes
from .widgets.fixes import Fixes
from .widgets.scenario.caption import Caption
from .widgets.scenario.catalogue import Catalogue

if TYPE_CHECKING:
    from ..sources.warm import WarmKernel

#: Actions that change the run: off and hidden with --readonly.
_CHANGING = frozenset({"fix", "all_off", "compare", "restart", "parameters"})
#: Actions that show something of a run.
_SHOWING = frozenset({"output", "focus_panel", "machine", "account"})
#: Seconds between two writes of what was measured.
_SAVE_EVERY = 5.0
#: Keys that end the app even while the tour plays; any other key only ends the tour.
_QUIT_KEYS = ("q", "ctrl+q", "ctrl+c")


class ScenarioApp(WatchApp):
    BINDINGS = [
        QUIT_KEY,
        HELP_KEY,
        Binding("slash", "search", "List", key_display="/", tooltip="Search the scenarios"),
        *FIX_KEYS,
        PAUSE_KEY,
        Binding("x", "compare", "A/B", tooltip="A/B test: slow against fixed, random order"),
        Binding("c", "code", "Code", tooltip="Show the slow and the fixed code"),
        ACCOUNT_KEY,
        Binding("r", "restart", "Restart", tooltip="Restart the scenario with all fixes off"),
        FOCUS_KEY,
        Binding("p", "parameters", "Params", tooltip="Change the parameters", show=False),
        OUTPUT_KEY,
        MACHINE_KEY,
        BASELINE_KEY,
        Binding("escape", "leave", "Back", show=False),
        *HIDDEN_KEYS,
    ]
    ABOUT = AppHelp(
        signs="{mark}  a fix was toggled here\n",
        words="x12 faster (95 % CI 11-13)\n         time before / time after, and how certain that is",
    )

    def __init__(self, options: Options) -> None:
        self._options = options
        self._measured = read_measured(options.measured) if options.measured else {}
        self._entry: Entry | None = options.start or next(iter(by_symptom(options.entries)), None)
        main = ScenarioScreen(
            options.entries, self._entry, self._measured, ascii=options.ascii, readonly=options.readonly
        )
        # Where there is no room for both, the list comes before the curves: nothing else can be done yet.
        main.set_class(options.start is None and options.demo is None, "-listing")
        super().__init__(main, ascii=options.ascii, readonly=options.readonly)
        self._main: ScenarioScreen
        self._params = {options.start.id: options.params} if options.start else {}
        """By scenario, as texts: what the command line or the dialog asked for."""
        self._requested: tuple[str, ...] = ()
        """Ids of the fixes that were switched on; the target may not have confirmed them yet."""
        self._comparing = False
        self._unsaved, self._saved = False, 0.0
        """Whether something was measured that is not in the file yet, and when that was last written."""
        self._tour: Tour | None = None
        self._caption: Caption | None = None
        self._warm: WarmKernel | None = None

    # Running a scenario

    def preload(self) -> None:
        from ..sources import scenario  # noqa: F401

    def begin(self) -> None:
        if self._options.demo is not None:
            self.begin_tour(scenes(self._options.entries, self._options.demo))
        elif self._options.start is not None:
            self.start(self._options.start)
        elif self._options.warm and self._run is None:
            self._warm_up()

    @work(thread=True, exit_on_error=False, group="warm")
    def _warm_up(self) -> None:
        from ..sources.warm import WarmKernel

        warm = WarmKernel()
        warm.start()
        self._warm = warm

    def release(self) -> None:
        if self._warm is not None:
            self._warm.stop()
        super().release()

    def start(self, entry: Entry) -> None:
        """End what runs and start this scenario, as its file is now: its author may have edited it."""
        self.end_run()
        entry = load(entry.path)
        self._look_at(entry)
        if entry.error is not None:
            return
        self._requested, self._comparing = (), False
        source = self._options.source(entry) if self._options.source else self._make_source(entry)
        self._main.mark_running(entry.id)
        self.start_run(source)

    def _make_source(self, entry: Entry) -> Source:
        from ..sources.inprocess import InProcessSource
        from ..sources.scenario import ChildSource

        params = self._params.get(entry.id, {})
        if self._options.in_process:
            return InProcessSource(entry.path, params=params)
        env = entry.scenario.env if entry.scenario else {}
        return ChildSource(entry.path, params=params, env=env, warm=self._warm)

    def on_unmount(self) -> None:
        super().on_unmount()
        if self._unsaved and self._options.measured is not None:
            write_measured(self._options.measured, self._measured)

    def start_shown(self) -> None:
        """Start the scenario on the screen: enter does it wherever the cursor is, as the headline says."""
        if self._entry is not None and self._run is None and not self._readonly:
            self.start(self._entry)

    def _look_at(self, entry: Entry) -> None:
        self._entry, self._view = entry, None
        self._main.introduce(entry)
        for screen in self.screen_stack:
            if isinstance(screen, CodeScreen):
                screen.show_entry(entry)
        self.refresh_bindings()

    @on(Catalogue.Chosen)
    def _entry_chosen(self, event: Catalogue.Chosen) -> None:
        if event.run and not self._readonly:
            self.start(event.entry)
        elif self._run is None:
            self._look_at(event.entry)

    # Showing

    @property
    def watched_title(self) -> str:
        return self._entry.title if self._entry is not None else ""

    @property
    def _fixes(self) -> tuple[Fix, ...]:
        return self._entry.scenario.fixes if self._entry and self._entry.scenario else ()

    def make_frame(self, view: View) -> Frame:
        file_name = self._entry.path.name if self._entry is not None else ""
        return Frame(
            view,
            self.watched_title,
            file_name,
            self.status_now(),
            self._baselines,
            self._fixes,
            self._requested,
        )

    def describe_status(self, view: View | None, now: int) -> str:
        return scenario_status(view, now)

    def is_attended(self) -> bool:
        return self._tour is not None or super().is_attended()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self._readonly and action in _CHANGING:
            return False
        if super().check_action(action, parameters) is False:
            return False
        running, scenario = self._run is not None, self._entry.scenario if self._entry else None
        if action in ("search", "leave") and self.screen_stack[-1:] != [self._main]:
            return False
        if action == "search":
            return not isinstance(self.focused, Input)  # there it is a letter
        if action == "code":
            return scenario is not None
        if action == "parameters":
            return running and scenario is not None and bool(scenario.params)
        if action == "fix":
            return running and isinstance(parameters[0], int) and parameters[0] <= len(self._fixes)
        if action in ("all_off", "compare"):
            return running
        if action == "restart":
            return self._entry is not None
        return True

    def why_not(self, action: str) -> str:
        if self._readonly and action in _CHANGING:
            return "Read-only: keys that change the run are off."
        if self._run is None and action in (*_CHANGING, "pause", "baseline", *_SHOWING):
            return "No scenario is running: enter starts the selected one."
        if action == "fix":
            return f"This scenario has only {counted(len(self._fixes), 'fix', 'fixes')}."
        if action == "parameters":
            return "This scenario has no parameters."
        return super().why_not(action)

    def keys_for_later(self) -> tuple[str, Sequence[Binding]]:
        """Return the keys that work on a run, while there is none."""
        if self._run is not None:
            return "", ()
        on_a_run = ("fix", "all_off", "compare", "pause", "baseline", "focus_panel")
        hidden_in_footer = ("parameters", "output", "machine")
        later = []
        for _, binding in self._bindings:
            name = action_name(binding.action)
            wanted = (binding.show and name in on_a_run) or name in hidden_in_footer
            if wanted and not (self._readonly and name in _CHANGING):
                later.append(binding)
        return "Once a scenario runs", later

    def describe_command(self, binding: Binding) -> tuple[str, str]:
        if action_name(binding.action) != "fix":
            return super().describe_command(binding)
        number = int(binding.action[4:-1])
        return f"Fix {number}: {self._fixes[number - 1].title}", f"Switch it on or off (key {number})"

    @on(Fixes.Toggle)
    def _fix_selected(self, event: Fixes.Toggle) -> None:
        if self._run is None:
            self.start_shown()
        elif not self._readonly:
            self._request(tuple(set(self._requested) ^ {event.id}))

    def _request(self, fixes: tuple[str, ...]) -> None:
        """Ask the target for these fixes and no others; that ends an A/B test, too."""
        if self._run is None:
            return
        order = [fix.id for fix in self._fixes]
        self._requested, self._comparing = tuple(sorted(fixes, key=order.index)), False
        self._run.source.send(SetFixes(self._requested))
        self._show()

    def action_fix(self, number: int) -> None:
        if number <= len(self._fixes):
            self._request(tuple(set(self._requested) ^ {self._fixes[number - 1].id}))

    def action_all_off(self) -> None:
        if self._requested or self._comparing:
            self._request(())

    def action_compare(self) -> None:
        """Start an A/B test; the second time, end it."""
        if self._run is None or self._entry is None or self._entry.scenario is None:
            return
        if self._comparing:
            self._request(self._requested)
            return
        from ..export.scenarios import BLOCK_SECONDS

        scenario = self._entry.scenario
        fixed = tuple(dict.fromkeys((*scenario.base, *scenario.cured_by)))
        self._comparing = True
        self._run.source.send(Compare(scenario.base, fixed, BLOCK_SECONDS))

    def action_restart(self) -> None:
        if self._entry is not None:
            self.start(self._entry)

    def action_search(self) -> None:
        self._main.open_list()

    def action_leave(self) -> None:
        self._main.close_list()

    def action_code(self) -> None:
        if self._entry is not None:
            self.open_screen(CodeScreen(self._entry, ascii=self._ascii))

    def action_parameters(self) -> None:
        entry = self._entry
        if entry is None or entry.scenario is None:
            return

        def change(texts: dict[str, str] | None) -> None:
            if texts is not None and self._run is not None and self._entry is entry:
                self._params[entry.id] = texts
                self._run.source.send(SetParams(tuple(f"{name}={text}" for name, text in texts.items())))

        values = self._params.get(entry.id, {})
        self.push_screen(ParamsScreen(entry.scenario, values, ascii=self._ascii), change)

    # The tour

    def begin_tour(self, entries: Sequence[Entry]) -> None:
        if entries:
            self._tour = Tour(entries)
            self._advance_tour()

    def end_tour(self) -> None:
        """Hand over to whoever pressed a key; everything stays as it is."""
        self._tour = None
        if self._caption is not None:
            self._caption.remove()
            self._caption = None

    def _advance_tour(self) -> None:
        if self._tour is None:
            return
        order = self._tour.advance(self._view, time.monotonic())
        if isinstance(order, Start):
            self.start(order.entry)
        elif isinstance(order, Switch):
            self._request(order.fixes)
        if self._caption is None:
            self._caption = Caption(ascii=self._ascii, readonly=self._readonly)
            self.screen.mount(self._caption, before="Footer")
        self._caption.show(self._tour.caption)

    def view_shown(self) -> None:
        self._advance_tour()

    def _show(self) -> None:
        self._keep_measured()  # first: the list shows the same numbers as the rest of the screen
        super()._show()

    # What was measured

    def _keep_measured(self) -> None:
        """Keep the effect of the whole cure for the catalogue, if it was measured at the defaults."""
        entry, view = self._entry, self._view
        if entry is None or view is None or entry.scenario is None or self._params.get(entry.id):
            return
        new = measure(view, entry.scenario)
        old = self._measured.get(entry.id)
        if new is None or (old is not None and replace(new, at=old.at) == old):
            return
        self._measured[entry.id] = new
        self._unsaved = True

    @work(thread=True, exit_on_error=False, group="measured", exclusive=True)
    def _save_measured(self) -> None:
        """Write it in a thread: a home directory may be far away."""
        if self._options.measured is not None:
            write_measured(self._options.measured, dict(self._measured))

    def _every_second(self) -> None:
        super()._every_second()
        if self._unsaved and time.monotonic() - self._saved > _SAVE_EVERY:
            self._unsaved, self._saved = False, time.monotonic()
            self._save_measured()
        self._advance_tour()

    async def on_event(self, event: events.Event) -> None:
        if self._tour is not None and not self._readonly:
            if isinstance(event, (events.Key, events.MouseDown)):
                self.end_tour()
            if isinstance(event, events.Key) and event.key not in _QUIT_KEYS:
                self._touched = time.monotonic()
                return
        await super().on_event(event)
