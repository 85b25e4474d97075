"""An app that behaves in its terminal, whatever it shows: signals, characters, palette, our own errors."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen

from ..own_error import sentence
from .ascii_filter import AsciiFilter
from .control_filter import ControlFilter
from .palette import REPLACED, Palette, key_commands, screenshot_command
from .screens.help import describe_key
from .screens.live import LiveScreen
from .screens.main import MainScreen
from .screens.terminal_size import BackgroundScreen, is_too_small
from .terminal_signals import ExitOnSignal, handle_sigcont

#: What a terminal that is too small still allows: everything else acts on something that cannot be seen.
_ALLOWED_WHEN_TOO_SMALL = frozenset({"quit", "help_quit", "suspend_process"})


class TerminalApp(App[None]):
    TITLE = "tfslowtop"
    CSS_PATH = Path(__file__).with_name("app.tcss")  # absolute: a subclass may live elsewhere
    #: Shared by all: strips cache what came out of them.
    _ascii_filter, _control_filter = AsciiFilter(), ControlFilter()

    def __init__(self, *, ascii: bool) -> None:
        self._ascii = ascii
        super().__init__()
        self._touched = time.monotonic()
        """When a key or the mouse was last used, or the app was started."""
        self._exit_on_signal: ExitOnSignal | None = None
        self.own_error: Exception | None = None

    # For the subclass to say

    def release(self) -> None:
        """Let go of what the app holds."""

    def release_and_wait(self) -> None:
        """Do the same and wait until it is done; called from a thread."""

    def show_own_error(self, text: str) -> None:
        """Show that there is a bug in tfslowtop."""

    def describe_command(self, binding: Binding) -> tuple[str, str]:
        """Return title and description of a key's command in the palette."""
        return binding.description, f"{describe_key(binding)} (key {self.get_key_display(binding)})"

    # Signals

    def on_mount(self) -> None:
        handle_sigcont(self)
        self._exit_on_signal = ExitOnSignal(self, self.release_and_wait)

    def on_unmount(self) -> None:
        if self._exit_on_signal is not None:
            self._exit_on_signal.closing()
        self.release()

    # Keys

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, (events.Key, events.MouseEvent)):
            self._touched = time.monotonic()
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        top = self.screen_stack[-1] if self.screen_stack else None
        if is_too_small(self.size) and isinstance(top, (MainScreen, LiveScreen)):
            return action in _ALLOWED_WHEN_TOO_SMALL
        return True

    def action_help_quit(self) -> None:
        """Handle Ctrl-C where no text is selected for copying."""
        self.call_later(self.action_quit)

    # What reaches the terminal

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [
            *super().get_line_filters(),
            self._control_filter,
            *([self._ascii_filter] if self._ascii else ()),
        ]

    def get_default_screen(self) -> BackgroundScreen:
        return BackgroundScreen(id="_default")

    # Errors of our own

    def report_own_error(self, error: Exception) -> None:
        """Report a bug once; everything that still works goes on."""
        if self.own_error is None:
            self.own_error = error
            self.show_own_error(sentence(error))

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            # Without these two there is no app. A test should see where it failed.
            if self.is_headless or isinstance(message, (events.Compose, events.Mount)):
                raise
            self.report_own_error(error)

    def _handle_exception(self, error: Exception) -> None:
        """Leave after an error in a widget, which is dead then; whoever started the app reports it."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.own_error = self.own_error or error
        self.release()
        self._close_messages_no_wait()

    # The command palette

    def action_command_palette(self) -> None:
        if self.use_command_palette and not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        textuals_own = (c for c in super().get_system_commands(screen) if c.title not in REPLACED)
        return [*textuals_own, screenshot_command(self), *key_commands(self, screen, self.describe_command)]
