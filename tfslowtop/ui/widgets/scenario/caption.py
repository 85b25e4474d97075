"""The caption of the tour, above the footer."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ...format import plain


class Caption(Static):
    def __init__(self, *, ascii: bool = False, readonly: bool = False) -> None:
        super().__init__(id="caption", markup=False)
        self._ascii, self._readonly = ascii, readonly
        self._shown = ""

    def show(self, words: str) -> None:
        if words == self._shown:
            return
        self._shown = words
        text = Text(plain(words) if self._ascii else words, "bold")
        if not self._readonly:
            text.append("\nPress any key to take over.", "not bold italic")
        self.update(text)
