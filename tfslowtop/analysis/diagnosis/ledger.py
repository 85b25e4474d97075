"""What the rules need of the past, in bounded memory: how counts grew with the steps, what sensors read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...agent.events import Gauge, Tally

#: Points of a count's history that are kept; then every second one.
_POINTS = 64
#: A reading stands until the next of its name, but not for longer than this.
_HOLDS = 2_000_000_000

Key = tuple[str, str, str, int]


@dataclass(slots=True)
class Entry:
    tally: Tally
    history: list[tuple[int, int]] = field(default_factory=list)
    """The step at that time, and the count."""

    @property
    def since(self) -> int:
        return self.history[0][0] if self.history else 0

    def late(self, steps: int) -> float:
        """The share of the count that came in the second half of the steps."""
        if not steps:  # no step is known, so nothing is early
            return 1.0
        before = [count for at, count in self.history if at <= steps / 2]
        early = before[-1] if before else 0
        return 1.0 - early / self.tally.count if self.tally.count else 0.0


class Ledger:
    """The newest tally of each kind and line, and how it came about."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}

    def add(self, tally: Tally, step: int) -> None:
        key = (tally.what, tally.symbol, tally.file, tally.line)
        entry = self.entries.setdefault(key, Entry(tally))
        entry.tally = tally
        entry.history.append((step, tally.count))
        if len(entry.history) > _POINTS:
            del entry.history[1:-1:2]


class Means:
    """Sensors' readings as means over time."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, float]] = {}
        self._sums: dict[str, tuple[float, float]] = {}

    def add(self, gauge: Gauge) -> None:
        at, value = self._last.get(gauge.name, (gauge.at, gauge.value))
        seconds = min(max(gauge.at - at, 0), _HOLDS) / 1e9
        total, time = self._sums.get(gauge.name, (0.0, 0.0))
        self._sums[gauge.name] = (total + value * seconds, time + seconds)
        self._last[gauge.name] = (gauge.at, gauge.value)

    def all(self) -> dict[str, tuple[float, float]]:
        """By name: the mean, and over how many seconds."""
        return {name: (total / time, time) for name, (total, time) in self._sums.items() if time > 0}
