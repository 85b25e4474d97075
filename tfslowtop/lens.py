"""How much of a run the screen wants to see. A module of its own: `watch` takes long to import."""

from __future__ import annotations

from dataclasses import dataclass

#: Seconds between two views: a curve's usual column. What somebody waits for comes at once.
REFRESH = 0.5


@dataclass(slots=True)
class Lens:
    """The screen writes it, the pump reads it."""

    columns: int = 60
    column_seconds: float = 0.5
    refresh: float = REFRESH
