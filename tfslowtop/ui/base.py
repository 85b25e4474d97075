"""What both apps share: a run in its thread, the newest view, pausing, and the screens of any run.

A run is pumped by a worker thread, which only posts messages. The app keeps the newest view and hands it as a
`Frame` to whichever screen is on top. What to run, and what else can be done with it, is up to the subclass.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

from ..lens import REFRESH, Lens
from ..own_error import sentence
from ..sources.source import Source, SourceError
from ..state.view import View
from .frame import Frame
from .messages import RunFailed, ViewUpdated
from .screens.account import AccountScreen
from .screens.detail import DetailScreen
from .screens.focus import FocusScreen
from .screens.help import AppHelp, HelpScreen, action_name
from .screens.live import LiveScreen
from .screens.machine import MachineScreen
from .screens.main import MainScreen
from .screens.output import OutputScreen
from .screens.terminal_size import is_too_small
from .terminal_app import TerminalApp
from .terminal_check import is_drawn_elsewhere
from .terminal_signals import has_terminal
from .widgets.account_bar import AccountBar
from .widgets.charts.panel import Panel

if TYPE_CHECKING:
    from ..run import Run

#: Seconds after the end of a run until texts that change seldom may be written once more.
_SETTLED = 2.1


class WatchApp(TerminalApp):
    """Watches one run at a time and shows it."""

    #: Columns of data that are computed at least: as many as the smallest terminal shows.
    LEAST_COLUMNS = 60
    #: Seconds without a key or the mouse after which curves move less often, and how often then. Repainting
    #: is most of what the watcher costs.
    IDLE_AFTER, IDLE_REFRESH = 10.0, 1.0
    #: Seconds that one column of a curve may stand for.
    ZOOMS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
    #: The zoom that a run reaches by itself: it starts closer, so that its first seconds fill the width.
    USUAL_ZOOM = 0.5
    #: Steps up to it, while what is known fits into the width: fine ones, so that the curves fill it.
    WIDENING = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
    #: What the help says about this app only.
    ABOUT = AppHelp()
    #: What is added to the sentence about a bug of ours.
    AFTER_OWN_ERROR = ""

    def __init__(self, main: MainScreen, *, ascii: bool, readonly: bool) -> None:
        super().__init__(ascii=ascii)
        self._readonly = readonly
        self._main = main
        self._lens = Lens()
        self._run: Run | None = None
        self._pumped: set[Run] = set()
        """Runs that a thread is busy with; one that was asked to end may still have to clean up."""
        self._view: View | None = None
        self._paused = False
        self._paused_view: View | None = None
        self._baselines: dict[str, float] = {}
        self._cpu = (time.process_time(), time.monotonic())
        self._own_cpu = 0.0
        self._zoomed = False
        """Whether somebody has chosen a zoom."""
        self._explained: set[str] = set()
        """Why keys did nothing: each reason is given once."""

    # For the subclass to say

    def preload(self) -> None:
        """Import what else a run needs. Called in a thread while the first picture is on the screen."""

    def begin(self) -> None:
        """Start what the app was opened for."""
        raise NotImplementedError

    def make_frame(self, view: View) -> Frame:
        """Return what screens draw."""
        raise NotImplementedError

    def describe_status(self, view: View | None, now: int) -> str:
        """Say in a few words what the run is doing at `now` (perf_counter_ns)."""
        raise NotImplementedError

    @property
    def watched_title(self) -> str:
        """What the headline calls the thing that is watched."""
        raise NotImplementedError

    def let_go(self, run: Run) -> None:
        """Do to a run's target what has to be done when it is no longer watched."""
        run.stop()

    def pump_ended(self, run: Run) -> None:
        """React to the end of a run, in its own thread, which is the one that may read its session."""

    def view_shown(self) -> None:
        """React to a new view, after the screens have."""

    def start_shown(self) -> None:
        """Start what is on the screen, if it can be started by `enter`."""

    def why_not(self, action: str) -> str:
        """Say in a sentence why a key's action cannot be done now; empty if there is nothing to say."""
        if action in ("output", "focus_panel", "machine", "account"):
            return "Nothing to show yet."
        if action in ("pause", "baseline"):
            return "Nothing is running."
        if action == "zoom":
            return "The view is paused; press space to resume."
        return ""

    def keys_for_later(self) -> tuple[str, Sequence[Binding]]:
        """Return keys that do nothing yet but will, with the heading of that part of the help."""
        return "", ()

    # Starting and ending a run

    def on_mount(self) -> None:
        self.push_screen(self._main)
        self.set_interval(1.0, self._every_second)
        self.call_after_refresh(self._import_run)

    @work(thread=True)
    def _import_run(self) -> None:
        """Import NumPy and the rest while the first picture is seen and keys already work."""
        from .. import run  # noqa: F401

        self.preload()
        self.call_later(self._begin)

    def _begin(self) -> None:
        self.begin()
        self._cpu = (time.process_time(), time.monotonic())  # do not count the first picture as our cost

    def start_run(self, source: Source, *, to_the_end: bool = False) -> None:
        """Watch this source, from a fresh screen. An earlier run must have been ended."""
        from ..run import Run

        self._view = self._paused_view = None
        self._paused = False
        self._baselines = {}
        if not self._zoomed:
            self._lens.column_seconds = self.ZOOMS[0]
        run = Run(
            source,
            self._lens,
            lambda view: self.post_view(ViewUpdated(run, view)),
            to_the_end=to_the_end,
        )
        self._run = run
        self._pump(run)
        self._show()

    def post_view(self, message: ViewUpdated) -> None:
        self.post_message(message)

    @work(thread=True, exit_on_error=False, group="run")
    def _pump(self, run: Run) -> None:
        """Drive the run in a thread of its own, which only posts messages."""
        self._pumped.add(run)
        try:
            run.pump()
            self.pump_ended(run)
        except SourceError as error:
            self.post_message(RunFailed(run, str(error), run.error))
        except Exception as error:  # a bug of ours has to be seen, but must not take the app down
            self.post_message(RunFailed(run, sentence(error), error))
        finally:
            self._pumped.discard(run)

    def end_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            self.let_go(run)

    def release(self) -> None:
        self.end_run()

    def release_and_wait(self) -> None:
        self.end_run()
        while self._pumped:
            time.sleep(0.02)

    # Showing

    @on(ViewUpdated)
    def _view_updated(self, event: ViewUpdated) -> None:
        if event.run is not self._run:
            return
        first, self._view = self._view is None, event.view
        ended = event.view.ended is not None
        if first or ended:
            self.refresh_bindings()
        self._widen(event.view)
        if ended:
            self.set_timer(_SETTLED, self._show)
        if not self._paused or ended:
            self._show()
        if event.run.error is not None:
            self.report_own_error(event.run.error)
        self.view_shown()

    @on(MainScreen.Resumed)
    def _main_resumed(self) -> None:
        self._show()

    @on(RunFailed)
    def _run_failed(self, event: RunFailed) -> None:
        self.own_error = self.own_error or event.error
        if event.run is self._run:
            self._run = None
            self._main.fail(event.text)

    def show_own_error(self, text: str) -> None:
        """Show it where the curves were."""
        self._main.fail(text + self.AFTER_OWN_ERROR)

    def _show(self) -> None:
        if not self.screen_stack:  # a last view may come while the app closes
            return
        self._set_lens()
        view = self._paused_view if self._paused else self._view
        if view is not None and isinstance(self.screen, LiveScreen):
            self.screen.show(self.make_frame(view))
        elif view is not None and self._run is not None and self.screen is self._main:
            self._main.show(self.make_frame(view))
        if self._run is not None:
            self._main.headline(self.watched_title, self.status_now())

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)  # no view may come that would do it

    def _set_lens(self) -> None:
        # As many columns as any screen can show, two to a cell: one opened during a pause has them all.
        self._lens.columns = max(2 * self.size.width, self.LEAST_COLUMNS)
        refresh = REFRESH if self.is_attended() and not self._paused else self.IDLE_REFRESH
        busy = self._view is not None and self._view.cores_busy
        self._lens.refresh = 2 * refresh if busy else refresh

    def _widen(self, view: View) -> None:
        """Let columns stand for more time once what is known no longer fits, up to the usual zoom."""
        panel = view.panel("latency")
        if self._zoomed or panel is None:
            return
        mid = panel.curve.mid.tolist()
        first = next((n for n, value in enumerate(mid) if value == value), len(mid))  # not NaN
        known = (len(mid) - first) * panel.curve.width_ns / 1e9
        wide = [step for step in self.WIDENING if step * self._main.curve_columns > known]
        self._lens.column_seconds = wide[0] if wide else self.USUAL_ZOOM

    def is_attended(self) -> bool:
        """Return whether somebody seems to be watching."""
        return time.monotonic() - self._touched < self.IDLE_AFTER

    def status_now(self) -> str:
        """Say what the run is doing, also while the view is paused."""
        status = self.describe_status(self._view, time.perf_counter_ns()) if self._run is not None else ""
        signs = ["READ-ONLY"] * self._readonly + ["PAUSED"] * self._paused
        return " · ".join((*signs, status))

    def _every_second(self) -> None:
        if not (self.is_headless or is_drawn_elsewhere() or has_terminal()):
            self.exit()  # nobody is looking any more, and SIGHUP may be ignored (nohup)
            return
        cpu, now = time.process_time(), time.monotonic()
        self._own_cpu = 100 * (cpu - self._cpu[0]) / max(1e-3, now - self._cpu[1])
        self._cpu = (cpu, now)
        if self._run is None or (self._paused and self.screen is not self._main):
            self._show()
        elif self._paused:  # otherwise each view does it
            self._main.headline(self.watched_title, self.status_now())
        self._main.status(self._view, self._own_cpu)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if super().check_action(action, parameters) is False:
            return False
        if action == "move":
            return self.screen_stack[-1:] == [self._main]
        if action in ("output", "focus_panel", "machine", "account"):
            return self._view is not None
        if action in ("pause", "baseline"):
            return self._run is not None
        if action == "zoom":
            return not self._paused
        return True

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._explain(event.key)
        await super().on_event(event)

    def _explain(self, key: str) -> None:
        """Say once why a key does nothing, if it does nothing."""
        if isinstance(self.screen, ModalScreen) or isinstance(self.focused, Input) or is_too_small(self.size):
            return
        active = self.screen.active_bindings.get(key)
        if active is not None and active.enabled:
            return
        for action in self._actions_of(key):
            why = self.why_not(action)
            if why and why not in self._explained:
                self._explained.add(why)
                self.notify(why)
                return

    def _actions_of(self, key: str) -> list[str]:
        """Return the actions that a key has on this screen or would have with another focus."""
        visible = (widget for widget in self.screen.query("*") if widget.can_focus and widget.display)
        bound = (binding for owner in (self, self.screen, *visible) for binding in owner._bindings)
        return [action_name(binding.action) for its_key, binding in bound if its_key == key]

    def action_pause(self) -> None:
        self._paused = not self._paused
        self._paused_view = self._view
        self._show()

    def action_baseline(self) -> None:
        """Pin the current level behind every curve; the second time, unpin it."""
        shown = self._paused_view if self._paused else self._view
        panels = shown.panels if shown is not None and not self._baselines else ()
        self._baselines = {panel.name: panel.now for panel in panels if math.isfinite(panel.now)}
        self._show()

    def action_zoom(self, step: int) -> None:
        self._zoomed = True
        now = self._lens.column_seconds
        index = next(n for n, zoom in enumerate(self.ZOOMS) if zoom >= now) + step
        self._lens.column_seconds = self.ZOOMS[min(max(index, 0), len(self.ZOOMS) - 1)]

    def action_move(self, direction: str) -> None:
        move = getattr(self.focused, f"action_cursor_{direction}", None)
        if move is not None:
            move()

    # Screens

    def open_screen(self, screen: LiveScreen) -> None:
        """Open one screen at a time: escape always leads back to the main screen."""
        if isinstance(self.screen, LiveScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
        self.call_after_refresh(self._fill_screen)

    @on(AccountBar.Opened)
    def action_account(self) -> None:
        self.open_screen(AccountScreen(ascii=self._ascii))

    @on(LiveScreen.Opened)
    def _fill_screen(self) -> None:
        """Show on a new screen at once what the others show, also during a pause or after the end."""
        self.refresh_bindings()
        self._show()

    @on(Panel.Opened)
    def _open_panel(self, event: Panel.Opened) -> None:
        if self._view is None:
            self.start_shown()
        elif self._view.panel(self._main.quantity_of(event.quantity)) is not None:
            self.open_screen(DetailScreen(self._main.quantity_of(event.quantity), ascii=self._ascii))

    def action_output(self) -> None:
        self.open_screen(OutputScreen(ascii=self._ascii))

    def action_machine(self) -> None:
        self.open_screen(MachineScreen(ascii=self._ascii))

    def action_focus_panel(self) -> None:
        quantity = self.screen.quantity if isinstance(self.screen, LiveScreen) else ""
        if isinstance(self.focused, Panel):
            quantity = self._main.quantity_of(self.focused.quantity)
        self.open_screen(FocusScreen(quantity or "latency", ascii=self._ascii))

    def action_show_help(self) -> None:
        if not isinstance(self.screen, HelpScreen):
            active = self.screen.active_bindings.values()
            self.push_screen(HelpScreen(active, self.keys_for_later(), self.ABOUT, ascii=self._ascii))
