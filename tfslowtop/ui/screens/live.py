"""What the screens have in common that show a run while it goes on."""

from __future__ import annotations

from textual.screen import Screen

from ...analysis.view import View
from ...catalogue import Entry


class LiveScreen(Screen[None]):
    """Gets every new view while it is on top."""

    def show_view(self, view: View, entry: Entry, words: str) -> None:
        """`words` says what the run is doing, as the main screen's headline does."""
        raise NotImplementedError
