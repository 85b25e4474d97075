"""What else is wrong with a script, most expensive first, in one line each."""

from __future__ import annotations

from rich.cells import set_cell_size
from rich.text import Text
from textual.binding import Binding
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ....diagnosis.finding import Finding
from ...format import plain_text, shortened

#: Findings that are listed; whoever has more should fix these first.
_MOST = 9
#: Columns of a terminal from which the share of the time is written in full.
_WIDE = 100


class FindingList(OptionList):
    BINDINGS = [
        Binding("enter", "select", "Open", key_display="enter", tooltip="Show evidence and code"),
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    class Opened(Message):
        """Somebody wants to see this finding in full."""

        def __init__(self, finding: Finding) -> None:
            super().__init__()
            self.finding = finding

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="finding-list", markup=False)
        self._ascii = ascii
        self._findings: tuple[Finding, ...] = ()
        self._rows: list[str] = []

    def show(self, findings: tuple[Finding, ...], first: int = 2) -> None:
        """List these findings; `first` is the number of the first one."""
        self._findings = findings[:_MOST]
        if self.display != bool(findings):
            self.display = bool(findings)
            self.screen.refresh_bindings()
        width = self.scrollable_content_region.width or 80
        rows = [self._row(n, f, width) for n, f in enumerate(self._findings, first)]
        texts = [row.plain for row in rows]
        if len(rows) != len(self._rows):
            index = self.highlighted
            self.clear_options()
            self.add_options([Option(row) for row in rows])
            self.highlighted = min(index or 0, len(rows) - 1) if rows else None
        else:
            for n, row in enumerate(rows):
                if row.plain != self._rows[n]:
                    self.replace_option_prompt_at_index(n, row)
        self._rows = texts

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_index < len(self._findings):
            self.post_message(self.Opened(self._findings[event.option_index]))

    def _row(self, number: int, f: Finding, width: int) -> Text:
        from ....diagnosis.registry import causes  # loaded by the run; too slow for the first picture

        known = causes().get(f.cause)
        share = f.share_words if width >= _WIDE else f.share_words.removesuffix(" of the time")
        end = f"{f.place or 'the machine'}  {share}"
        room = max(20, width - len(end) - 5)
        words = shortened(known.headline if known else f.cause, room, ascii=self._ascii)
        text = Text(f"{number}  ", no_wrap=True, overflow="ellipsis")
        text.append(f"{set_cell_size(words, room)} {end}")
        return plain_text(text) if self._ascii else text
