"""The card of a scenario: the claim and its source, what is measured so far, and how it works."""

from __future__ import annotations

import time

from rich.text import Text
from textual.widgets import Static

from ....catalogue.find import Entry
from ...format import plain_text

#: Seconds between two verdicts: sentences are read slowly.
_EVERY = 2.0


class Card(Static):
    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="card", markup=False)
        self._ascii = ascii
        self._entry: Entry | None = None
        self._shown = ""
        self._at = 0.0

    def describe(self, entry: Entry) -> None:
        self._entry, self._shown, self._at = entry, "", 0.0
        self.show_verdict("")

    def show_verdict(self, verdict: str) -> None:
        """Write the card with what was measured so far. Its height may change, and so the layout."""
        now = time.monotonic()
        if verdict and now - self._at < _EVERY:
            return
        self._at = now if verdict else 0.0
        scenario = self._entry.scenario if self._entry else None
        text = Text()
        if scenario is not None:
            text.append("Claim     ", "bold")
            text.append(scenario.claim + "\n")
            text.append("Measured  ", "bold")
            text.append((verdict or "not yet") + "\n")
            text.append(scenario.mechanism)
            text.append(f" (article {scenario.source})" if scenario.source else "", "italic")
        if text.plain != self._shown:
            self._shown = text.plain
            self.update(plain_text(text) if self._ascii else text)
