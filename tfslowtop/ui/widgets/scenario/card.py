"""The card of a scenario: the claim and its source, what is measured and found so far, and how it works."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ....catalogue.find import Entry
from ...format import plain_text


class Card(Static):
    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="card", markup=False)
        self._ascii = ascii
        self._entry: Entry | None = None
        self._shown = ""

    def describe(self, entry: Entry) -> None:
        self._entry, self._shown = entry, ""
        self.show_verdict("")

    def show_verdict(self, verdict: str, found: str = "") -> None:
        """Write the card with what was measured and found. Its height may change, and so the layout."""
        scenario = self._entry.scenario if self._entry else None
        text = Text()
        if scenario is not None:
            text.append("Claim     ", "bold")
            text.append(scenario.claim + "\n")
            text.append("Measured  ", "bold")
            text.append((verdict or "not yet") + "\n")
            if found:
                text.append("Found     ", "bold")
                text.append(found + "\n")
            text.append(scenario.mechanism)
        if text.plain != self._shown:
            self._shown = text.plain
            self.update(plain_text(text) if self._ascii else text)
