"""What is wrong with a script, most expensive first: cause, line, share, and a sentence each."""

from __future__ import annotations

import textwrap

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
#: Terminal height from which a finding gets more than one line; enter shows all of it.
_TALL = 32


class FindingList(OptionList):
    BINDINGS = [
        Binding("enter", "select", "Open", key_display="enter", tooltip="Show evidence, code and fix"),
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

    def show(self, findings: tuple[Finding, ...]) -> None:
        self._findings = findings[:_MOST]
        if self.display != bool(findings):
            self.display = bool(findings)
            self.screen.refresh_bindings()
        width = self.scrollable_content_region.width or 80
        rows = [self._row(n, f, width) for n, f in enumerate(self._findings, 1)]
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
        where = f.place + (f" in {f.symbol}" if f.place and f.symbol else "")
        share = f.share_words
        head = f"{number}  {f.cause}  {where or 'the machine'}"
        room = max(20, width - len(share) - 4)
        text = Text(overflow="ellipsis")
        head = set_cell_size(shortened(head, room, ascii=self._ascii), room)
        text.append(f"{head}  {share}", "bold")
        if self.app.size.height >= _TALL:
            indent = "   "
            sentence = textwrap.fill(f.sentence, width - 4, initial_indent=indent, subsequent_indent=indent)
            text.append("\n" + sentence)
        return plain_text(text) if self._ascii else text
