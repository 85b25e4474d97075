"""What opens over the main screen, and the tour: the half of the app that does not drive the run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from ..agent.protocol.events import SetParams
from ..catalogue.find import Entry
from ..state.view import View
from .ascii_filter import SevenBits
from .control_filter import SafeLines
from .screens.code import CodeScreen
from .screens.detail import DetailScreen
from .screens.focus import FocusScreen
from .screens.help import HelpScreen, name_of, words_of, worth_telling
from .screens.live import LiveScreen
from .screens.machine import MachineScreen
from .screens.main import MainScreen
from .screens.output import OutputScreen
from .screens.params import ParamsScreen
from .screens.terminal_size import BaseScreen, Palette
from .tour import Start, Switch, Tour
from .widgets.charts.panel import Panel
from .widgets.scenario.caption import Caption

if TYPE_CHECKING:
    from ..run import Run

CODE_KEY = Binding("c", "code", "Code", tooltip="The claim, and the slow and the fixed code")
HELP_KEY = Binding("question_mark", "keys", "Help", key_display="?", tooltip="This help")
WINDOW_KEYS: list[BindingType] = [
    Binding("F", "big", "Focus", tooltip="One panel over the whole screen, for a talk"),
    # Room in the footer is scarce; the help and the palette have these, too.
    Binding("p", "parameters", "Params", tooltip="Change the parameters", show=False),
    Binding("o", "output", "Output", tooltip="What the program writes itself", show=False),
    Binding("m", "machine", "Machine", tooltip="The GPUs and the host, in numbers", show=False),
]
#: Actions that change the run: off and hidden with --readonly.
CHANGING = frozenset({"fix", "all_off", "compare", "restart", "parameters"})
#: Actions on what runs.
RUNNING_ONLY = frozenset(
    {"fix", "all_off", "compare", "pause", "baseline", "big", "parameters", "output", "machine"}
)
#: Actions on what only the main screen has.
MAIN_ONLY = frozenset({"search", "leave", "move"})
#: These end the app even while the tour plays; any other key only stops the tour.
_QUIT = ("q", "ctrl+q", "ctrl+c")


class Windows(App[None]):
    """The attributes belong to the app itself; they are named here for what is done with them."""

    _main: MainScreen
    _entry: Entry | None
    _view: View | None
    _run: Run | None
    _ascii: bool
    _readonly: bool
    _wanted: tuple[str, ...]
    _params: dict[str, dict[str, str]]
    """By scenario, as texts: what was asked for on the command line or since."""
    _tour: Tour | None = None
    _caption: Caption | None = None
    _touched = 0.0
    """When somebody last used a key or the mouse, or started it."""
    #: One for all: strips remember what came out of it.
    _seven_bits, _safe_lines = SevenBits(), SafeLines()

    def start(self, entry: Entry, fixes: tuple[str, ...] = ()) -> None:
        raise NotImplementedError

    def start_shown(self) -> None:
        raise NotImplementedError

    def _show(self) -> None:
        raise NotImplementedError

    def _want(self, fixes: tuple[str, ...]) -> None:
        raise NotImplementedError

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), self._safe_lines, *([self._seven_bits] if self._ascii else ())]

    # Screens

    def can_open(self, action: str) -> bool:
        """Whether there is something to show."""
        scenario = self._entry.scenario if self._entry else None
        if action == "code":
            return scenario is not None
        if action == "parameters":
            return self._run is not None and scenario is not None and bool(scenario.params)
        return self._view is not None

    def _open(self, screen: LiveScreen) -> None:
        """One at a time: escape always leads back to the main screen."""
        if isinstance(self.screen, LiveScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
        self.call_after_refresh(self._fill)

    @on(LiveScreen.Opened)
    def _fill(self) -> None:
        """A new screen shows at once what the others show, also while the run is paused or over."""
        self.refresh_bindings()
        self._show()

    @on(Panel.Opened)
    def _open_panel(self, event: Panel.Opened) -> None:
        if self._view is None:
            self.start_shown()
        elif self._view.panel(self._name_of(event.quantity)) is not None:
            self._open(DetailScreen(self._name_of(event.quantity), ascii=self._ascii))

    def _name_of(self, quantity: str) -> str:
        """The panel `gpu` shows one GPU's memory."""
        return f"gpu.{self._main.gpu}.memory" if quantity == "gpu" else quantity

    def action_code(self) -> None:
        if self._entry is not None:
            self._open(CodeScreen(self._entry, ascii=self._ascii))

    def action_output(self) -> None:
        self._open(OutputScreen(ascii=self._ascii))

    def action_machine(self) -> None:
        self._open(MachineScreen(ascii=self._ascii))

    def action_big(self) -> None:
        quantity = self.screen.quantity if isinstance(self.screen, LiveScreen) else ""
        if isinstance(self.focused, Panel):
            quantity = self._name_of(self.focused.quantity)
        self._open(FocusScreen(quantity or "latency", ascii=self._ascii))

    def action_keys(self) -> None:
        if not isinstance(self.screen, HelpScreen):
            later = [] if self._run is not None else [b for _, b in self._bindings if self._waits(b)]
            active, script = self.screen.active_bindings.values(), self._main.is_script
            self.push_screen(HelpScreen(active, later, ascii=self._ascii, script=script))

    def _waits(self, binding: Binding) -> bool:
        """Whether the key does something once a scenario runs."""
        name = name_of(binding.action)
        shown = binding.show or name in ("parameters", "output", "machine")
        return shown and name in RUNNING_ONLY and not (self._readonly and name in CHANGING)

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

    def get_default_screen(self) -> BaseScreen:
        return BaseScreen(id="_default")

    # The command palette

    def action_command_palette(self) -> None:
        if self.use_command_palette and not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every key's action, and Textual's own commands but for those that we have better."""
        for command in super().get_system_commands(screen):
            if command.title not in ("Keys", "Quit", "Maximize", "Minimize", "Screenshot"):
                yield command
        yield SystemCommand("Screenshot", "Save a picture of the screen in this folder (SVG)", self._picture)
        fixes = self._entry.scenario.fixes if self._entry and self._entry.scenario else ()
        for active in screen.active_bindings.values():
            binding = active.binding
            if not worth_telling(active) or name_of(binding.action) == "command_palette":
                continue
            title = binding.description
            told = f"{words_of(binding)} (key {self.get_key_display(binding)})"
            if name_of(binding.action) == "fix":
                number = int(binding.action[4:-1])
                title = f"Fix {number}: {fixes[number - 1].title}"
                told = f"Switch it on or off (key {number})"
            yield SystemCommand(title, told, partial(self.run_action, binding.action, active.node))

    def _picture(self) -> None:
        """Textual's own goes to a folder for downloads, which a server does not have."""
        try:
            self.notify(f"Saved as {self.save_screenshot()}")
        except OSError as error:
            self.notify(f"The picture could not be saved: {error.strerror or error}.", severity="error")

    # The tour

    def begin_tour(self, entries: Iterable[Entry]) -> None:
        scenes = list(entries)
        if scenes:
            self._tour = Tour(scenes)
            self._play()

    def end_tour(self) -> None:
        """Whoever presses a key takes over; everything stays as it is."""
        self._tour = None
        if self._caption is not None:
            self._caption.remove()
            self._caption = None

    def _play(self) -> None:
        """Called with every new view and every second."""
        if self._tour is None:
            return
        order = self._tour.advance(self._view, time.monotonic())
        if isinstance(order, Start):
            self.start(order.entry)
        elif isinstance(order, Switch):
            self._want(order.fixes)
        if self._caption is None:
            self._caption = Caption(ascii=self._ascii, readonly=self._readonly)
            self.screen.mount(self._caption, before="Footer")
        if self._tour is not None:
            self._caption.show(self._tour.caption)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, (events.Key, events.MouseEvent)):
            self._touched = time.monotonic()
        taken = isinstance(event, (events.Key, events.MouseDown)) and not self._readonly
        if self._tour is not None and taken:
            self.end_tour()
            if isinstance(event, events.Key) and event.key not in _QUIT:
                return
        await super().on_event(event)
