"""The program's output. The screen follows its end until somebody scrolls up."""

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

from ...state.view import MAX_OUTPUT
from ..format import plain
from ..frame import Frame
from ..output_text import lines
from .live import LiveScreen


class OutputLines(ScrollView, can_focus=True):
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
            # After the layout, which moves the end to where the new size says.
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
        Binding("escape", "screen.stop_typing", "Back"),
    ]


class OutputScreen(LiveScreen):
    class Typed(Message):
        """A line for the program's standard input."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    AUTO_FOCUS = "#output"
    BINDINGS = [
        Binding("o", "close", "Back", show=False),
        Binding("t", "type", "Type", tooltip="Type a line of input for the program"),
    ]

    def __init__(self, *, ascii: bool = False, typing: bool = False, typing_now: bool = False) -> None:
        """With `typing`, a key opens the line for input; with `typing_now` it is open from the start."""
        super().__init__(ascii=ascii)
        self._typing_now = typing_now
        self._lines = OutputLines(id="output")
        self._line = TypedLine(placeholder="input for the program; enter sends it", id="typed", compact=True)
        self._line.display = False
        self._typing = typing
        self._shown: str | None = None

    def compose_body(self) -> ComposeResult:
        yield self._lines
        yield self._line

    def on_mount(self) -> None:
        if self._typing_now:
            self.action_type()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "type" and not self._typing:
            return False
        return super().check_action(action, parameters)

    def action_type(self) -> None:
        self._line.display = True
        self._line.focus()

    def action_stop_typing(self) -> None:
        self._line.display = False
        self._lines.focus()

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Typed(event.value + "\n"))
        self._line.value = ""

    def show(self, frame: Frame) -> None:
        view = frame.view
        self.headline(f"Output of {frame.file_name}", frame.status)
        if view.ended is not None and self._typing:
            self._typing = False
            self.action_stop_typing()
            self.refresh_bindings()
        if view.output == self._shown:
            return
        self._shown = view.output
        rows = lines(view.output)
        if self.ascii:
            rows = [plain(row) for row in rows]
        if len(view.output) >= MAX_OUTPUT:
            rows.insert(0, "(older output is not kept; --output FILE saves all of it)")
        self._lines.show(rows or ["(no output)" if view.ended else "(no output yet)"])
