"""The streams of a script, listed as `top` lists processes: what repeats, how often, how long, and where."""

from __future__ import annotations

from rich.cells import set_cell_size
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ....state.streams import StreamView
from ...format import SIGNS, plain_text, quantity, shortened

#: Rows that are listed. Streams beyond that hardly take any time.
_MOST = 60


def is_internal(stream: StreamView) -> bool:
    """Return whether the stream is a library's own and at no line of the user's."""
    return not stream.file or stream.library


def display_name(stream: StreamView) -> str:
    """Return the name as a person would say it."""
    return stream.name.replace("<module>", "top level")


class StreamList(OptionList):
    BINDINGS = [
        Binding("enter", "select", "Detail", key_display="enter", tooltip="Show the curve of this stream"),
        Binding("S", "choose", "Step", tooltip="Make this stream the step"),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("choose", "select") and not self.option_count:
            return False
        return action != "choose" or not self.has_class("-readonly")

    def action_choose(self) -> None:
        if isinstance(self.parent, StreamTable):
            self.parent.choose()


class StreamTable(Vertical):
    class Chosen(Message):
        """Somebody wants this stream to be the step and, if `opened`, to see it in full."""

        def __init__(self, stream: int, opened: bool) -> None:
            super().__init__()
            self.stream = stream
            self.opened = opened

    def __init__(self, *, ascii: bool = False, readonly: bool = False) -> None:
        super().__init__(id="streams")
        self._ascii = ascii
        self._head = Static(classes="streams--head", markup=False)
        self.list = StreamList(id="stream-list", markup=False, classes="-readonly" if readonly else None)
        self._heading = ""
        self._rows: dict[str, str] = {}
        self._all: tuple[StreamView, ...] = ()
        self._internal = False

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.list

    def choose(self) -> None:
        index = self.list.highlighted
        if index is not None:
            self._choose(self.list.get_option_at_index(index))

    def _choose(self, option: Option, *, opened: bool = False) -> None:
        if option.id is not None:
            self.post_message(self.Chosen(int(option.id), opened))

    def toggle_internal(self) -> None:
        self._internal = not self._internal
        self.show(self._all)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose(event.option, opened=True)  # not the cursor's, which may have moved on

    def show(self, streams: tuple[StreamView, ...]) -> None:
        self._all = streams
        shown = [s for s in streams if self._internal or s.is_step or not is_internal(s)][:_MOST]
        self.set_class(not shown, "-hidden")
        width = self.list.scrollable_content_region.width or 80
        hidden = len(streams) - len(shown)
        head = self._plain(_heading(width, hidden))
        if head.plain != self._heading:
            self._heading = head.plain
            self._head.update(head, layout=False)
        rows = {str(s.id): self._plain(_row(s, width, ascii=self._ascii)) for s in shown}
        if list(rows) == list(self._rows):
            for id, text in rows.items():
                if text.plain != self._rows[id]:
                    self.list.replace_option_prompt(id, text)
        else:
            self._refill(rows)
        self._rows = {id: text.plain for id, text in rows.items()}

    def _refill(self, rows: dict[str, Text]) -> None:
        """Fill the list in its new order, with the cursor on the same stream."""
        index = self.list.highlighted
        kept = self.list.get_option_at_index(index).id if index is not None else None
        self.list.clear_options()
        self.list.add_options([Option(text, id=id) for id, text in rows.items()])
        self.refresh_bindings()
        if rows:
            self.list.highlighted = list(rows).index(kept) if kept in rows else 0

    def _plain(self, text: Text) -> Text:
        return plain_text(text) if self._ascii else text


def _columns(width: int) -> tuple[int, int]:
    """Return the widths of name and place: what the numbers leave."""
    left = max(20, width - 2 - (8 + 10 + 10 + 3 + 6 + 7) - 1)
    place = min(28, left * 2 // 5)
    return left - place - 1, place


def _heading(width: int, hidden: int) -> Text:
    name, place = _columns(width)
    label = f"stream ({hidden} hidden)"
    label = label if hidden and len(label) <= name else "stream"
    numbers = f"{'calls':>8}{'median':>10}{'p95':>10}   {'time':>6}{'traces':>7}"
    return Text(f"  {label:{name}} {'where':{place}}{numbers}", "bold", no_wrap=True, overflow="crop")


def _row(s: StreamView, width: int, *, ascii: bool) -> Text:
    name, place = _columns(width)
    where = f"{s.file.rsplit('/', 1)[-1]}:{s.line}" if s.file else ""
    where = shortened(where, place, ascii=ascii, front=True)
    sign = SIGNS[s.trend.direction] if s.trend else " "
    share = f"{100 * s.share:.0f} %" if s.share == s.share else ""
    own = display_name(s)
    title = f"{own} ({s.kind})"
    title = title if s.kind not in own and len(title) <= name else own
    title = shortened(title, name, ascii=ascii)
    numbers = f"{s.calls:>8,}{quantity(s.median, 's'):>10}{quantity(s.p95, 's'):>10} {sign} {share:>6}"
    text = Text(f"{'>' if s.is_step else ' '} ", no_wrap=True, overflow="crop")
    columns = f"{set_cell_size(title, name)} {set_cell_size(where, place)}"
    text.append(columns, "bold" if s.is_step else "")
    text.append(numbers + f"{s.traces or '':>7}")
    return text
