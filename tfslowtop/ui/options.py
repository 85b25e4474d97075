"""What the command line asks of the app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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
    """Plays a tour of these scenarios, or of the usual ones if there are none."""
    source: Callable[[Entry], Source] | None = None
    """Tests watch a source of their own."""
