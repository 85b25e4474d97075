"""Screens that follow the terminal's size, however fast it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.command import CommandPalette
from textual.screen import Screen

if TYPE_CHECKING:
    from textual.message_pump import MessagePump as _Base
else:
    _Base = object  # a mixin: Textual finds a screen's styles by its first base that is a widget


class FitsTerminal(_Base):
    """Drops what it is told of sizes that the terminal no longer has.

    Textual's screens answer every change of size by queueing another one for themselves. When two sizes are
    in the queue at once, they take turns for ever, and nothing else is done any more. The newest size always
    comes, as the app sends it after it has changed its own.
    """

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Resize) or event.size == self.app.size:
            await super().on_event(event)


class BaseScreen(FitsTerminal, Screen[None]):
    """What is under all the others."""


class Palette(FitsTerminal, CommandPalette):
    """The command palette."""
