"""Base of the screens that open over the main one and show the run while it goes on."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from ..format import headline, plain
from ..frame import Frame
from ..widgets.footer import KeyFooter
from .terminal_size import SMALLEST, LatestSizeOnly, TooSmallNotice, is_too_small


class Page(VerticalScroll):
    """A scrolling page, with the keys that lists have."""

    BINDINGS = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "To the top", show=False),
        Binding("G", "scroll_end", "To the end", show=False),
    ]


class LiveScreen(LatestSizeOnly, Screen[None]):
    """Is given every new frame while it is on top."""

    class Opened(Message):
        """The screen is mounted and has nothing to show yet."""

    BINDINGS = [Binding("escape", "close", "Back")]
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (SMALLEST[1], "-low"), (30, "-tall")]

    #: The quantity that it shows, if it shows one.
    quantity = ""

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(classes="live -ascii" if ascii else "live")
        self.ascii = ascii
        self._headline = Static(classes="headline", markup=False)
        self._too_small = TooSmallNotice()
        self._written: dict[Static, Text] = {}

    def compose(self) -> ComposeResult:
        yield self._headline
        yield from self.compose_body()
        yield self._too_small
        yield KeyFooter()

    def compose_body(self) -> ComposeResult:
        """Yield what stands between the headline and the footer."""
        yield from ()

    def show(self, frame: Frame) -> None:
        """Draw this frame."""

    def on_mount(self) -> None:
        self.post_message(self.Opened())

    def on_resize(self) -> None:
        self._too_small.show_size(self.app.size)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action == "close" or not is_too_small(self.app.size)

    def action_close(self) -> None:
        self.dismiss()

    # Writing

    def spell(self, text: str) -> str:
        """Return the text in ASCII where that is asked for."""
        return plain(text) if self.ascii else text

    def headline(self, title: str, status: str = "") -> None:
        self.write(self._headline, headline(title, status, self.app.size.width, ascii=self.ascii))

    def write(self, widget: Static, text: Text) -> None:
        """Update a widget, unless it shows this text already."""
        if self._written.get(widget) != text:
            self._written[widget] = text
            widget.update(text)
