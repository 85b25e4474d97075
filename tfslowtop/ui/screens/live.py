"""What the screens have in common that open over the main one and show the run while it goes on."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from ...catalogue.find import Entry
from ...state.view import View
from ..format import headline, plain
from ..widgets.footer import Keys
from .terminal_size import FitsTerminal

#: The smallest terminal that everything fits into.
SMALLEST = (60, 16)


class Page(VerticalScroll):
    """What does not fit is a few lines down; the keys of the list work here, too."""

    BINDINGS = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "To the top", show=False),
        Binding("G", "scroll_end", "To the end", show=False),
    ]


class LiveScreen(FitsTerminal, Screen[None]):
    """Gets every new view while it is on top."""

    class Opened(Message):
        """It is there and has nothing to show yet."""

    BINDINGS = [Binding("escape", "close", "Back")]
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (SMALLEST[1], "-low"), (30, "-tall")]

    #: The quantity that it shows, if it shows one.
    quantity = ""
    #: The level that was marked, by quantity.
    baselines: Mapping[str, float] = {}

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(classes="live -ascii" if ascii else "live")
        self.ascii = ascii
        self._headline = Static(classes="headline", markup=False)
        self._said: dict[Static, Text] = {}

    def compose(self) -> ComposeResult:
        yield self._headline
        yield from self.parts()
        yield Static(classes="too-small", markup=False)
        yield Keys()

    def parts(self) -> ComposeResult:
        """What stands between the headline and the footer."""
        yield from ()

    def show_view(self, view: View, entry: Entry, words: str) -> None:
        """`words` says what the run is doing, as the main screen's headline does."""

    def on_mount(self) -> None:
        self.post_message(self.Opened())

    def on_resize(self) -> None:
        width, height = self.app.size
        self.query_one(".too-small", Static).update(
            f"tfslowtop needs {SMALLEST[0]}x{SMALLEST[1]} characters.\nThis terminal has {width}x{height}."
        )

    def action_close(self) -> None:
        self.dismiss()

    # Writing

    def spell(self, text: str) -> str:
        return plain(text) if self.ascii else text

    def headline(self, title: str, words: str = "") -> None:
        self.say(self._headline, headline(title, words, self.app.size.width, ascii=self.ascii))

    def say(self, widget: Static, text: Text) -> bool:
        """Writes a text, if it is not the one that stands there."""
        if self._said.get(widget) == text:
            return False
        self._said[widget] = text
        widget.update(text)
        return True
