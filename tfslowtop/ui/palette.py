"""The command palette: every key's action by its name, and Textual's own commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import CommandPalette
from textual.screen import Screen

from .screens.help import action_name, is_worth_listing
from .screens.terminal_size import LatestSizeOnly

#: Textual's commands that we replace by our own, or that make no sense here.
REPLACED = frozenset({"Keys", "Quit", "Maximize", "Minimize", "Screenshot"})


class Palette(LatestSizeOnly, CommandPalette):
    """The command palette, following the terminal's size."""


def key_commands(
    app: App[None], screen: Screen[object], describe: Callable[[Binding], tuple[str, str]]
) -> Iterator[SystemCommand]:
    """Yield one command per action: `q` and `ctrl+q`, or `+` and `=`, are two keys for one command."""
    listed: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        action = binding.action.removeprefix("app.")
        if is_worth_listing(active) and action_name(action) != "command_palette" and action not in listed:
            listed.add(action)
            title, description = describe(binding)
            yield SystemCommand(title, description, partial(app.run_action, binding.action, active.node))


def screenshot_command(app: App[None]) -> SystemCommand:
    """Return a command that saves here. Textual's own uses a download folder, which servers lack."""

    def save() -> None:
        try:
            app.notify(f"Saved as {app.save_screenshot()}")
        except OSError as error:
            app.notify(f"Could not save the picture: {error.strerror or error}.", severity="error")

    return SystemCommand("Screenshot", "Save a picture of the screen in this folder (SVG)", save)
