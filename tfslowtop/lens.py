"""How much of a run the app wants to see. A module of its own, because `run` takes long to import."""

from __future__ import annotations

from dataclasses import dataclass

#: Seconds between two views, as long as a usual column of a curve. What somebody waits for comes at once.
REFRESH = 0.5


@dataclass(slots=True)
class Lens:
    """Written by the app, read by the thread that pumps the run."""

    columns: int = 60
    column_seconds: float = 0.5
    refresh: float = REFRESH
