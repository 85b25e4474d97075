"""How screens follow the terminal's size, however fast it changes, and the notice that it is too small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.message_pump import MessagePump as _Base
else:
    _Base = object  # a mixin: Textual finds a screen's styles by its first base that is a widget

#: The smallest terminal that the panels, the fixes and the footer fit into.
SMALLEST = (60, 16)


def is_too_small(size: Size) -> bool:
    """Return whether a terminal of this size shows nothing but the size that it should have."""
    return size.width < SMALLEST[0] or size.height < SMALLEST[1]


class LatestSizeOnly(_Base):
    """Ignore resize events for sizes that the terminal no longer has.

    Textual's screens answer every resize by queueing another one for themselves. With two sizes in the queue
    they alternate forever, and nothing else gets done. The newest size always arrives, because the app sends
    it after changing its own.
    """

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Resize) or event.size == self.app.size:
            await super().on_event(event)


class BackgroundScreen(LatestSizeOnly, Screen[None]):
    """The empty screen under all others."""


class TooSmallNotice(Static):
    """Takes the place of everything else in a terminal that is too small."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._needed = False

    def show_size(self, size: Size) -> None:
        """Say which size is needed. Keys that act on what cannot be seen come and go with it."""
        if self._needed != is_too_small(size):
            self._needed = is_too_small(size)
            self.screen.refresh_bindings()
        needed = f"{SMALLEST[0]}x{SMALLEST[1]}"
        self.update(
            f"tfslowtop needs {needed} characters.\nThis terminal has {size.width}x{size.height}.\nq quits."
        )
