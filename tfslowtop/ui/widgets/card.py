"""The card of a scenario: what is claimed and where, what is measured right now, and how it works."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ...catalogue import Entry
from ..format import plain_text


class Card(Static):
    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="card", markup=False)
        self._ascii = ascii
        self._entry: Entry | None = None
        self._shown = ""

    def describe(self, entry: Entry) -> None:
        self._entry, self._shown = entry, ""
        self.measured("")

    def measured(self, verdict: str) -> None:
        """Writes the card with what the data say by now."""
        scenario = self._entry.scenario if self._entry else None
        text = Text()
        if scenario is not None:
            text.append("Claim     ", "bold")
            text.append(scenario.claim)
            text.append(f" ({scenario.source})\n" if scenario.source else "\n", "italic")
            text.append("Measured  ", "bold")
            text.append((verdict or "not yet") + "\n")
            text.append(scenario.mechanism)
        self._write(text)

    def say(self, words: str) -> None:
        """Any other text in its place."""
        self._write(Text(words))

    def _write(self, text: Text) -> None:
        if text.plain != self._shown:
            self._shown = text.plain
            self.update(plain_text(text) if self._ascii else text)
