"""The card of a scenario that runs: the claim, and what is measured and found so far."""

from __future__ import annotations

import textwrap

from rich.text import Text
from textual.widgets import Static

from ....catalogue.find import Entry
from ...format import plain_text

#: Columns of a label, and of prose that is still easy to read.
_LABEL, _READABLE = 10, 110


class Card(Static):
    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="card", markup=False)
        self._ascii = ascii
        self._entry: Entry | None = None
        self._said = ("", "")
        self._shown = ""

    def describe(self, entry: Entry) -> None:
        self._entry, self._shown = entry, ""
        self.show_verdict("")

    def on_resize(self) -> None:
        self.show_verdict(*self._said)

    def show_verdict(self, verdict: str, found: str = "") -> None:
        """Write the card with what was measured and found. Its height may change, and so the layout."""
        self._said = (verdict, found)
        scenario = self._entry.scenario if self._entry else None
        if scenario is None:
            return
        text = Text()
        width = min(_READABLE, self.size.width or 76) - _LABEL
        parts = (("Claim", scenario.claim), ("Measured", verdict or "not yet"), ("Found", found))
        for label, words in parts:
            for n, row in enumerate(textwrap.wrap(words, width, break_on_hyphens=False)):
                text.append("\n" if text else "").append(f"{label if n == 0 else '':{_LABEL}}", "bold")
                text.append(row)
        if text.plain != self._shown:
            self._shown = text.plain
            self.update(plain_text(text) if self._ascii else text)
