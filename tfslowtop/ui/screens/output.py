"""What the target writes itself. The screen follows the end until somebody scrolls up."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from ...catalogue.find import Entry
from ...state.view import MAX_OUTPUT, View
from ..format import plain
from ..output_text import lines
from .live import LiveScreen


class Lines(ScrollView, can_focus=True):
    """Lines of plain text, of which only the visible ones cost anything."""

    BINDINGS = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "To the top", show=False),
        Binding("G,end", "scroll_end", "To the end"),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: list[str] = []

    def show(self, new: list[str]) -> None:
        following = self.scroll_offset.y >= self.max_scroll_y
        self._lines = new
        self.virtual_size = Size(max(map(cell_len, new), default=0), len(new))
        if following:
            # After the layout: only then the end is where the new size says.
            self.call_after_refresh(self.scroll_end, animate=False, x_axis=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        width = self.scrollable_content_region.width
        text = self._lines[top + y] if top + y < len(self._lines) else ""
        return Strip([Segment(text, self.rich_style)]).crop_extend(x, x + width, self.rich_style)


class TypedLine(Input):
    BINDINGS = [
        Binding("enter", "submit", "Send", key_display="enter"),
        Binding("escape", "screen.type_no_more", "Back"),
    ]


class OutputScreen(LiveScreen):
    class Typed(Message):
        """A line for the program, which may be asking for one."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    AUTO_FOCUS = "#output"
    BINDINGS = [
        Binding("o", "close", "Back", show=False),
        Binding("t", "type", "Type", tooltip="Type a line for the program"),
    ]

    def __init__(self, *, ascii: bool = False, typing: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._lines = Lines(id="output")
        self._line = TypedLine(placeholder="a line for the program; enter sends it", id="typed", compact=True)
        self._line.display = False
        self._typing = typing
        self._shown: str | None = None

    def parts(self) -> ComposeResult:
        yield self._lines
        yield self._line

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "type" or self._typing

    def action_type(self) -> None:
        self._line.display = True
        self._line.focus()

    def action_type_no_more(self) -> None:
        self._line.display = False
        self._lines.focus()

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Typed(event.value + "\n"))
        self._line.value = ""

    def show_view(self, view: View, entry: Entry, words: str) -> None:
        self.headline(f"Output of {entry.path.name}", words)
        if view.ended is not None and self._typing:
            self._typing = False
            self.action_type_no_more()
            self.refresh_bindings()
        if view.output == self._shown:
            return
        self._shown = view.output
        rows = lines(view.output)
        if self.ascii:
            rows = [plain(row) for row in rows]
        if len(view.output) >= MAX_OUTPUT:
            rows.insert(0, "(what came before is not kept here; --output FILE keeps all of it)")
        self._lines.show(rows or [f"(it has written nothing{'' if view.ended else ' so far'})"])
