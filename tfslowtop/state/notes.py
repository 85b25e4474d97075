"""Notes for the user: each text once, with how often it came."""

from __future__ import annotations

#: Different notes that are kept, the newest.
_MOST = 50


class Notes:
    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._dropped = 0

    def add(self, text: str) -> None:
        self._counts[text] = self._counts.get(text, 0) + 1
        if len(self._counts) > _MOST:
            del self._counts[next(iter(self._counts))]
            self._dropped += 1

    def once(self, text: str) -> None:
        """Add a note unless it is there already."""
        if text not in self._counts:
            self.add(text)

    def texts(self) -> tuple[str, ...]:
        """Return the notes in order of their first appearance."""
        earlier = [f"{self._dropped:,} earlier notes are not shown"] if self._dropped else []
        return (*earlier, *(f"{text} (×{n:,})" if n > 1 else text for text, n in self._counts.items()))
