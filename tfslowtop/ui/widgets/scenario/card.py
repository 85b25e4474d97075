"""The card of a scenario: what is claimed and where, what is measured right now, and how it works."""

from __future__ import annotations

import time

from rich.text import Text
from textual.widgets import Static

from ....catalogue.find import Entry
from ...format import plain_text

#: Seconds between two versions of what is measured: sentences are read slowly.
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
        self.measured("")

    def measured(self, verdict: str) -> None:
        """Writes the card with what the data say by now; its height follows, and with it the whole layout."""
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
        self._write(text)

    def say(self, words: str) -> None:
        """Any other text in its place."""
        self._write(Text(words))

    def _write(self, text: Text) -> None:
        if text.plain != self._shown:
            self._shown = text.plain
            self.update(plain_text(text) if self._ascii else text)
