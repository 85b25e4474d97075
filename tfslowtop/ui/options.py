"""What the command line asks of the scenario app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..catalogue.find import Entry
from ..sources.source import Source


@dataclass(frozen=True, slots=True)
class Options:
    entries: Sequence[Entry]
    start: Entry | None = None
    in_process: bool = False
    ascii: bool = False
    params: dict[str, str] = field(default_factory=dict)
    readonly: bool = False
    """A shared screen: keys that change the run are off."""
    demo: Sequence[str] | None = None
    """Play a tour of these scenarios, or of the default ones if the sequence is empty."""
    measured: Path | None = None
    """The file with what scenarios measured here; None keeps it for this run only."""
    warm: bool = False
    """Import TensorFlow in a process of its own while the list is read, for the first scenario."""
    source: Callable[[Entry], Source] | None = None
    """Makes the source to watch in place of the scenario; for tests."""
