"""The card of a scenario: what is claimed and where, what kind it is, and how it works."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ...catalogue import Entry


class Card(Static):
    def __init__(self) -> None:
        super().__init__(id="card", markup=False)

    def describe(self, entry: Entry | None) -> None:
        text = Text()
        if entry is None or entry.scenario is None:
            self.update("")
            return
        scenario = entry.scenario
        text.append("Claim  ", "bold")
        text.append(scenario.claim)
        if scenario.source:
            text.append(f"  ({scenario.source})", "italic")
        text.append("\nKind   ", "bold")
        text.append(scenario.kind)
        text.append("\n" + scenario.mechanism)
        if scenario.example:
            text.append("\nThe example  ", "bold")
            text.append(scenario.example)
        self.update(text)
