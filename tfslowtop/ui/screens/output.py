"""What the target writes itself. The screen follows the end until somebody scrolls up."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ...analysis.view import View
from ...catalogue import Entry
from ..format import plain
from ..terminal import lines
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


class OutputScreen(LiveScreen):
    AUTO_FOCUS = "#output"
    BINDINGS = [Binding("o", "close", "Back", show=False)]

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._lines = Lines(id="output")
        self._shown: str | None = None

    def parts(self) -> ComposeResult:
        yield self._lines

    def show_view(self, view: View, entry: Entry, words: str) -> None:
        self.headline(f"Output of {entry.path.name}", words)
        if view.output == self._shown:
            return
        self._shown = view.output
        rows = lines(view.output)
        if self.ascii:
            rows = [plain(row) for row in rows]
        self._lines.show(rows or ["(it has written nothing so far)"])
