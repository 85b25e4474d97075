"""The Textual app: keys, the run worker, and which scenario is on."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input

from ..agent.protocol.events import Compare, SetFixes
from ..catalogue.find import Entry, load
from ..lens import REFRESH, Lens
from ..own_error import sentence
from ..sources.source import Source, SourceError
from ..state.view import View
from .messages import Broken, Updated
from .options import Options as Options
from .run_status import state
from .screens.live import LiveScreen
from .screens.main import MainScreen
from .terminal_signals import Leaving, mind_being_stopped, terminal_is_there
from .tour import scenes
from .widgets.scenario.catalogue import Catalogue
from .widgets.scenario.fixes import Fixes
from .windows import CHANGING, CODE_KEY, HELP_KEY, MAIN_ONLY, WINDOW_KEYS, Windows

if TYPE_CHECKING:
    from ..run import Run

#: Seconds after which every text on the screen may change again.
_SETTLED = 2.1


class ScenarioApp(Windows):
    TITLE = "tfslowtop"
    CSS_PATH = Path(__file__).with_name("app.tcss")  # absolute: a subclass may live elsewhere
    BINDINGS = [
        # By how much they matter, as a narrow terminal shows the first ones only.
        Binding("q", "quit", "Quit"),
        HELP_KEY,
        Binding("slash", "search", "List", key_display="/", tooltip="Search the scenarios"),
        Binding("1", "fix(1)", "Fix", key_display="1-9", tooltip="Switch a fix on or off"),
        *(Binding(str(n), f"fix({n})", f"Toggle fix {n}", show=False) for n in range(2, 10)),
        Binding("0", "all_off", "All off", tooltip="All fixes off"),
        Binding("space", "pause", "Pause", tooltip="The view stands still; capture goes on"),
        Binding("x", "compare", "A/B", tooltip="Broken against fixed, in shuffled blocks"),
        CODE_KEY,
        Binding("r", "restart", "Restart", tooltip="Start the scenario again, with the fixes off"),
        *WINDOW_KEYS,
        Binding("b", "baseline", "Baseline", tooltip="Keep the level of now behind the curves"),
        Binding("escape", "leave", "Back", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, tooltip="To the shell; fg comes back"),
        Binding("plus,equals_sign", "zoom(-1)", "Zoom in", show=False, key_display="+"),
        Binding("minus", "zoom(1)", "Zoom out", show=False, key_display="-"),
        Binding("j", "move('down')", "Down", show=False),
        Binding("k", "move('up')", "Up", show=False),
    ]
    #: A screen of its own shows at least as much as the panels do.
    LEAST_COLUMNS = 60
    #: Seconds without a key or the mouse after which the curves move less often, and how often then.
    ALONE_AFTER, ALONE = 10.0, 1.0
    #: Seconds that one column of a curve may stand for.
    ZOOMS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0)

    def __init__(self, options: Options) -> None:
        self._ascii, self._readonly = options.ascii, options.readonly
        super().__init__()
        self._options = options
        self._params = {options.start.id: options.params} if options.start else {}
        self._entry: Entry | None = options.start or next(iter(options.entries), None)
        self._main = self.make_main()
        self._lens = Lens()
        self._run: Run | None = None
        self._pumps: set[Run] = set()
        """Runs that a thread is busy with; one that was told to end may have to clean up."""
        self._leaving_at_once: Leaving | None = None
        self._number = 0
        self._view: View | None = None
        self._wanted: tuple[str, ...] = ()
        self._paused = self._comparing = False
        self._still: View | None = None
        """What the screen shows while it is paused."""
        self._baselines: dict[str, float] = {}
        self._cpu = (time.process_time(), time.monotonic())
        self._touched = time.monotonic()
        self._own_cpu = 0.0
        self.own_error: Exception | None = None

    def make_main(self) -> MainScreen:
        options = self._options
        main = MainScreen(options.entries, self._entry, ascii=options.ascii, readonly=options.readonly)
        # Where the list hides behind the curves, too, it is what one sees first: what else would one do?
        main.set_class(options.start is None and options.demo is None, "-listing")
        return main

    def reload(self, entry: Entry) -> Entry:
        """Reads the file again: its author may have mended it since."""
        return load(entry.path)

    def on_mount(self) -> None:
        self.push_screen(self._main)
        self.set_interval(1.0, self._every_second)
        mind_being_stopped(self)
        self._leaving_at_once = Leaving(self, self._end_run_and_wait)
        self.call_after_refresh(self._load)

    @work(thread=True)
    def _load(self) -> None:
        """What a run needs, while the first picture is seen: NumPy is most of it, and keys work meanwhile."""
        from .. import run as watch  # noqa: F401
        from ..sources import scenario as child  # noqa: F401

        self.call_later(self._begin)

    def _begin(self) -> None:
        if self._options.demo is not None:
            self.begin_tour(scenes(self._options.entries, self._options.demo))
        elif self._options.start is not None:
            self.start(self._options.start)
        self._cpu = (time.process_time(), time.monotonic())  # the first picture is not what we cost

    # Running

    def start(self, entry: Entry, fixes: tuple[str, ...] = ()) -> None:
        """Ends what runs and starts this."""
        from ..run import Run

        self.end_run()
        entry = self.reload(entry)
        self._look_at(entry)
        if entry.error is not None:
            return
        self._number += 1
        self._wanted, self._view = fixes, None
        self._paused = self._comparing = False
        self._baselines = {}
        number = self._number
        source = self._options.source(entry) if self._options.source else self._source(entry, fixes)
        self._run = Run(
            source,
            self._lens,
            lambda view: self._post(Updated(number, view)),
            to_the_end=self._main.is_script,
        )
        self._main.mark_running(entry.id)
        self._watch(self._run, number)
        self._show()

    def _post(self, message: Updated) -> None:
        self.post_message(message)

    def _source(self, entry: Entry, fixes: tuple[str, ...]) -> Source:
        from ..sources.inprocess import InProcessSource
        from ..sources.scenario import ChildSource

        params = self._params.get(entry.id, {})
        if self._options.in_process:
            return InProcessSource(entry.path, params=params, fixes=fixes)
        env = entry.scenario.env if entry.scenario else {}
        return ChildSource(entry.path, params=params, fixes=fixes, env=env)

    @work(thread=True, exit_on_error=False, group="run")
    def _watch(self, run: Run, number: int) -> None:
        """The Textual thread worker that drives the kernel. It only posts messages."""
        self._pumps.add(run)
        try:
            run.pump()
        except SourceError as error:
            self.post_message(Broken(number, str(error), run.error))
        except Exception as error:  # a mistake of ours must be seen, and must not take the screen along
            self.post_message(Broken(number, sentence(error), error))
        finally:
            self._pumps.discard(run)

    def end_run(self) -> None:
        if self._run is not None:
            self._run.stop()
            self._run = None

    def _end_run_and_wait(self) -> None:
        self.end_run()
        while self._pumps:
            time.sleep(0.02)

    def on_unmount(self) -> None:
        if self._leaving_at_once is not None:
            self._leaving_at_once.closing()
        self.end_run()

    # Showing

    def _look_at(self, entry: Entry) -> None:
        self._entry, self._view = entry, None
        self._main.introduce(entry)
        self.refresh_bindings()

    def _show(self) -> None:
        if self._entry is None or not self.screen_stack:  # a last view may come while the app closes
            return
        # As many columns as any screen can show: one that is opened while the view stands still has them all.
        self._lens.columns = max(self.size.width, self.LEAST_COLUMNS)
        # Repainting is most of what the watcher costs; where nobody is at the keys it can wait a little.
        watched = self._tour is not None or time.monotonic() - self._touched < self.ALONE_AFTER
        run, words = self._run, self._words()
        refresh = REFRESH if watched and not self._paused else self.ALONE
        busy = self._view is not None and self._view.cores_busy
        self._lens.refresh = 2 * refresh if busy else refresh
        shown = self._still if self._paused else self._view
        if shown is not None and isinstance(self.screen, LiveScreen):
            self.screen.baselines = self._baselines
            self.screen.show_view(shown, self._entry, words)
        elif shown is not None and run is not None and self.screen is self._main:
            self._main.show(shown, self._entry, self._wanted, self._baselines)
        if run is not None:
            self._main.headline(self._entry.title, words)

    def _words(self) -> str:
        """What the run is doing by now, also while the view stands still."""
        script = self._entry is not None and self._entry.scenario is None
        now = time.perf_counter_ns()
        words = state(self._view, now, script=script) if self._run is not None else ""
        return f"PAUSED · {words}" if self._paused else words

    def _every_second(self) -> None:
        if not self.is_headless and not terminal_is_there():
            self.exit()  # nobody looks any more, and SIGHUP may be ignored (nohup)
            return
        cpu, now = time.process_time(), time.monotonic()
        self._own_cpu = 100 * (cpu - self._cpu[0]) / max(1e-3, now - self._cpu[1])
        self._cpu = (cpu, now)
        if self._run is None or (self._paused and self.screen is not self._main):
            self._show()
        elif self._paused and self._entry is not None:  # else the views do it
            self._main.headline(self._entry.title, self._words())
        self._main.status(self._view, self._own_cpu)
        self._play()

    @on(Updated)
    def _updated(self, event: Updated) -> None:
        if event.run == self._number:
            first, self._view = self._view is None, event.view
            if first or event.view.ended is not None:
                self.refresh_bindings()
            if event.view.ended is not None:
                self.set_timer(_SETTLED, self._show)  # texts that change seldom have missed the last view
            if not self._paused or event.view.ended is not None:
                self._show()
            if self._run is not None and self._run.error is not None and self.own_error is None:
                self._own(self._run.error)
            self._play()

    @on(MainScreen.Resumed)
    def _resumed(self) -> None:
        self._show()

    @on(Broken)
    def _broken(self, event: Broken) -> None:
        self.own_error = self.own_error or event.error
        if event.run == self._number:
            self._run = None
            self._main.fail(event.text)

    # Errors of our own

    def _own(self, error: Exception) -> None:
        """Says so in the place of the curves; everything that still works goes on."""
        if self.own_error is None:
            self.own_error = error
            goes_on = "\nThe script goes on; o shows its output." if self._main.is_script else ""
            self._main.fail(sentence(error) + goes_on)

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            # Without these two there is no app. A test is to see where it failed.
            if self.is_headless or isinstance(message, (events.Compose, events.Mount)):
                raise
            self._own(error)

    def _handle_exception(self, error: Exception) -> None:
        """Of a widget, which is dead after it: leaves, and whoever started the app says why."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.own_error = self.own_error or error
        self.end_run()
        self._close_messages_no_wait()

    @on(Catalogue.Chosen)
    def _chosen(self, event: Catalogue.Chosen) -> None:
        if event.run and not self._readonly:
            self.start(event.entry)
        elif self._run is None:
            self._look_at(event.entry)

    @on(Fixes.Toggle)
    def _toggle(self, event: Fixes.Toggle) -> None:
        if self._run is None:
            self.start_shown()
        elif not self._readonly:
            self._want(tuple(set(self._wanted) ^ {event.id}))

    def start_shown(self) -> None:
        """What the headline promises of enter, wherever the cursor is."""
        if self._entry is not None and self._run is None and not self._readonly:
            self.start(self._entry)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        running = self._run is not None
        if self._readonly and action in CHANGING:
            return False
        if action in MAIN_ONLY and self.screen_stack[-1:] != [self._main]:
            return False
        if action == "search":
            return not isinstance(self.focused, Input)  # there it is a letter
        if action in ("code", "parameters", "output", "big", "machine"):
            return self.can_open(action)
        if action == "fix":
            fixes = self._entry.scenario.fixes if self._entry and self._entry.scenario else ()
            return running and isinstance(parameters[0], int) and parameters[0] <= len(fixes)
        if action in ("pause", "all_off", "compare", "baseline"):
            return running
        if action == "zoom":
            return not self._paused
        if action == "restart":
            return self._entry is not None
        return True

    def _want(self, fixes: tuple[str, ...]) -> None:
        if self._run is None or self._entry is None or self._entry.scenario is None:
            return
        order = [fix.id for fix in self._entry.scenario.fixes]
        self._wanted, self._comparing = tuple(sorted(fixes, key=order.index)), False
        self._run.source.send(SetFixes(self._wanted))
        self._show()

    def action_help_quit(self) -> None:
        """Ctrl-C, where no text is marked to be copied."""
        self.call_later(self.action_quit)

    def action_fix(self, number: int) -> None:
        if self._entry and self._entry.scenario and number <= len(self._entry.scenario.fixes):
            self._want(tuple(set(self._wanted) ^ {self._entry.scenario.fixes[number - 1].id}))

    def action_all_off(self) -> None:
        if self._wanted or self._comparing:
            self._want(())

    def action_compare(self) -> None:
        """Broken and fixed in shuffled blocks; the second time, back to one of them."""
        if self._run is None or self._entry is None or self._entry.scenario is None:
            return
        if self._comparing:
            self._want(self._wanted)
            return
        from ..export.scenarios import BLOCK_SECONDS

        scenario = self._entry.scenario
        fixed = tuple(dict.fromkeys((*scenario.base, *scenario.cured_by)))
        self._comparing = True
        self._run.source.send(Compare(scenario.base, fixed, BLOCK_SECONDS))

    def action_baseline(self) -> None:
        """The level of now stands behind every curve; the second time, it goes."""
        shown = self._still if self._paused else self._view
        panels = shown.panels if shown is not None and not self._baselines else ()
        self._baselines = {panel.name: panel.now for panel in panels if math.isfinite(panel.now)}
        self._show()

    def action_pause(self) -> None:
        """The view stands still; capture goes on."""
        self._paused = not self._paused
        self._still = self._view
        self._show()

    def action_restart(self) -> None:
        if self._entry is not None:
            self.start(self._entry)

    def action_search(self) -> None:
        self._main.open_list()

    def action_leave(self) -> None:
        self._main.close_list()

    def action_zoom(self, step: int) -> None:
        place = self.ZOOMS.index(self._lens.column_seconds) + step
        self._lens.column_seconds = self.ZOOMS[min(max(place, 0), len(self.ZOOMS) - 1)]

    def action_move(self, direction: str) -> None:
        move = getattr(self.focused, f"action_cursor_{direction}", None)
        if move is not None:
            move()
