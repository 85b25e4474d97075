"""Where the main thread was seen, and what it was doing there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..agent.protocol.names import (
    PACKAGE_KERAS,
    PACKAGE_TENSORFLOW,
    PACKAGE_TRACING,
    PACKAGE_UNKNOWN,
    TALLY_WHERE,
)
from ..state.activities import waits, writes
from .facts import Facts, Site, TallyFacts

#: Packages whose time is TensorFlow's own, or not the program's doing.
_NOT_PYTHON = (
    PACKAGE_TENSORFLOW,
    PACKAGE_KERAS,
    "tf_keras",
    PACKAGE_TRACING,
    "gc",
    PACKAGE_UNKNOWN,
    "importlib",
)

#: A function that spends this share of its time writing exists to write, so that all it does counts as writing;
#: unless TensorFlow takes this share of it, because then it computes something of its own.
LOGS = 0.2


@dataclass(frozen=True, slots=True)
class Busy:
    """What the main thread was doing when it was seen."""

    package: str
    """Whose code ran; `user` for the program's own Python and for C that it called directly."""
    callee: str
    """The function that the user's line called."""
    module: str
    """The module of that function."""
    function: int
    """The first line of the user's function around the line; 0 at the top level of a file."""

    @property
    def waits(self) -> bool:
        return waits(self.package) and not self.writes

    @property
    def writes(self) -> bool:
        return writes(self.callee, self.module)

    @property
    def python(self) -> bool:
        """Whether it is the program's own Python, or a library that neither writes nor waits."""
        return self.package not in _NOT_PYTHON and not waits(self.package) and not self.writes


def busy(c: TallyFacts) -> Busy:
    return Busy(c.package, c.symbol, c.module or c.package, c.function_line)


#: The share of the sightings of a line that come in the second half of the steps if the line is still in use. Less
#: than facts.ONGOING, because there are few sightings.
GOES_ON = 0.1


def sightings(facts: Facts, late: float = GOES_ON) -> Iterator[tuple[TallyFacts, Busy]]:
    """Iterate over sightings at lines of the user that are still in use; over all, if `late` is below 0."""
    found = (c for c in facts.tallies_of(TALLY_WHERE) if c.late > late and c.is_users)
    return ((c, busy(c)) for c in found)


def seen(facts: Facts, where: Callable[[Busy], bool], late: float = GOES_ON) -> dict[Site, float]:
    """Return the seconds by line, most expensive first."""
    lines: dict[Site, float] = {}
    for c, b in sightings(facts, late):
        if where(b):
            lines[c.site] = lines.get(c.site, 0.0) + c.seconds
    return dict(sorted(lines.items(), key=lambda line: -line[1]))


def loggers(facts: Facts) -> dict[Site, float]:
    """Return the user's functions that exist to write, with the seconds they take in all."""
    every: dict[Site, float] = {}
    writes: dict[Site, float] = {}
    runs: dict[Site, float] = {}
    for c, b in sightings(facts):
        site = (c.file, b.function)
        every[site] = every.get(site, 0.0) + c.seconds
        kind = writes if b.writes else runs if not b.python else None
        if kind is not None:
            kind[site] = kind.get(site, 0.0) + c.seconds
    return {
        site: seconds
        for site, seconds in every.items()
        if site[1] and writes.get(site, 0.0) >= LOGS * seconds and runs.get(site, 0.0) < LOGS * seconds
    }
