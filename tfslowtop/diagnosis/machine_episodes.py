"""Episodes in which the machine slowed the program, found as readings come in and kept in bounded memory.

A finding has to appear within 5 s of its condition. The host's figures are averages over a second, of which half
has to pass before they show it; a row of readings comes up to half a second later, and the next view up to another
half. That leaves `HOLDS` for confirmation, with a second to spare on a busy machine.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..agent.protocol.names import GPU_THROTTLE, GaugeName
from ..state.view import Gpu
from ..stats.blocks import Floats, Stretch
from .conditions import Condition, Readings, by_device
from .names import CauseId

_SECOND = 1_000_000_000
#: Readings are judged about twice a second, as often as GPUs are read.
_EVERY = int(0.45 * _SECOND)
#: A shorter disturbance is no condition: every machine has those. One that is not confirmed yet ends when two rows in
#: succession do not show it; a confirmed one ends after `_AWAY`, so that it does not flicker.
HOLDS, _LEFT, _AWAY = int(1.5 * _SECOND), int(0.8 * _SECOND), 3 * _SECOND
#: An episode is compared with the half minute before it. With fewer rows than `_CALM` before it, its beginning was
#: not seen.
_BEFORE = 30 * _SECOND
_ROWS, _CALM = _BEFORE // _EVERY, 5
#: A row is valid until the next one, but no longer than this: sensors may have stalled.
_STANDS = 2 * _SECOND
#: Fewer steps than this have no median worth comparing.
_STEPS = 3

#: A cause and the label of a GPU, which is empty for the host.
Key = tuple[CauseId, str]


@dataclass(frozen=True, slots=True)
class MachineEpisode:
    """A time in which a condition of the machine held."""

    cause: CauseId
    gpu: str
    """The device's label; empty for the host."""
    since: int
    until: int
    lasting: bool
    lost: float
    """Seconds lost, judging by the readings alone."""
    begun: bool
    """Whether its beginning was seen; if not, it has held from the start."""
    before: Readings
    """The means of its readings in the time before, where there were any."""
    during: Readings
    times: int = 1
    """How many such episodes there were, this one included."""
    others_lost: float = 0.0
    """Seconds lost in the other ones."""
    step: int = 0
    """The number of the step at which it began."""
    step_before: float = math.nan
    """The median time of a step before; NaN with too few steps."""
    step_during: float = math.nan

    @property
    def seconds(self) -> float:
        return (self.until - self.since) / _SECOND

    @property
    def slower(self) -> float:
        """How many times as long a step takes as before; NaN if unknown."""
        return self.step_during / self.step_before if self.step_before > 0 else math.nan


@dataclass(slots=True)
class _Open:
    """An episode that is still going on, or was a moment ago."""

    since: int
    until: int
    begun: bool
    before: Readings
    lost: float = 0.0
    sums: dict[GaugeName, tuple[float, int]] = field(default_factory=dict)
    bits: float | None = None

    def add(self, at: int, elapsed: int, share: float, now: Readings) -> None:
        self.until = at
        self.lost += share * min(elapsed, _STANDS) / _SECOND
        self.bits = now.get(GPU_THROTTLE)  # a mean of bits means nothing
        for name, value in now.items():
            total, count = self.sums.get(name, (0.0, 0))
            self.sums[name] = total + value, count + 1

    @property
    def confirmed(self) -> bool:
        return self.until - self.since >= HOLDS

    def episode(self, key: Key, lasting: bool) -> MachineEpisode:
        during = {name: total / count for name, (total, count) in self.sums.items()}
        if self.bits is not None:
            during[GPU_THROTTLE] = self.bits
        return MachineEpisode(
            *key, self.since, self.until, lasting, self.lost, self.begun, self.before, during
        )


class MachineEpisodes:
    """Finds and keeps the episodes of a run."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._conditions = tuple(conditions)
        self._at = 0
        self._rows: deque[tuple[int, dict[str, dict[GaugeName, float]]]] = deque(maxlen=_ROWS)
        self._open: dict[Key, _Open] = {}
        self._over: dict[Key, list[MachineEpisode]] = {}
        """The longest and the newest of each kind that is over."""
        self._sums: dict[Key, tuple[int, float]] = {}
        """How many are over, and the seconds lost in them."""

    def add(self, at: int, readings: Readings, gpus: Iterable[Gpu]) -> bool:
        """Judge the current readings, about two rows a second at most; return whether an episode was confirmed."""
        elapsed = at - self._at if self._at else 0
        if self._at and elapsed < _EVERY:
            return False
        self._at = at
        devices = by_device(readings, gpus)
        news = [
            self._judge(at, elapsed, condition, label, now)
            for label, now in devices.items()
            for condition in self._conditions
            if condition.per_gpu == bool(label)
        ]
        for key, mine in list(self._open.items()):
            if at - mine.until > (_AWAY if mine.confirmed else _LEFT):
                del self._open[key]
                if mine.confirmed:
                    self._close(key, mine.episode(key, False))
        self._rows.append((at, devices))
        return any(news)

    def all(self) -> tuple[MachineEpisode, ...]:
        """Return one episode of each kind: the one that lasts, or else the longest."""
        found = {key: longest for key, (longest, _) in self._over.items()}
        found |= {key: mine.episode(key, True) for key, mine in self._open.items() if mine.confirmed}
        result = []
        for key, episode in found.items():
            times, lost = self._sums.get(key, (0, 0.0))
            more = (times + 1, lost) if episode.lasting else (times, lost - episode.lost)
            result.append(replace(episode, times=more[0], others_lost=more[1]))
        return tuple(result)

    def _judge(self, at: int, elapsed: int, condition: Condition, label: str, now: Readings) -> bool:
        """Judge one condition; return whether this row confirms an episode."""
        key = condition.cause, label
        mine = self._open.get(key)

        def usual(name: GaugeName) -> float:
            return mine.before.get(name, math.nan) if mine is not None else self._mean(key, name)

        share = condition.share_lost(now, usual)
        if share is None:
            return False
        if mine is None:
            means = ((name, self._mean(key, name)) for name in condition.evidence)
            before = {name: mean for name, mean in means if math.isfinite(mean)}
            mine = self._open[key] = _Open(at, at, len(self._calm(key)) >= _CALM, before)
        known = mine.confirmed
        mine.add(at, elapsed, share, {name: now[name] for name in condition.evidence if name in now})
        return mine.confirmed and not known

    def _calm(self, key: Key) -> list[dict[GaugeName, float]]:
        """Return the rows of the last half minute since the previous episode of this kind.

        A device that was lost in between has none: it does not get slower by coming back.
        """
        since = self._over[key][1].until if key in self._over else 0
        return [row[key[1]] for at, row in self._rows if at > since and key[1] in row]

    def _mean(self, key: Key, name: GaugeName) -> float:
        values = [row[name] for row in self._calm(key) if name in row]
        return sum(values) / len(values) if len(values) >= _CALM else math.nan

    def _close(self, key: Key, episode: MachineEpisode) -> None:
        longest = max((self._over.get(key, [episode])[0], episode), key=lambda s: s.seconds)
        self._over[key] = [longest, episode]
        times, lost = self._sums.get(key, (0, 0.0))
        self._sums[key] = times + 1, lost + episode.lost


def with_steps(episode: MachineEpisode, kept: Stretch, tail: Stretch) -> MachineEpisode:
    """Return the episode with the step times before and during it; `tail` has the last seconds in full."""
    start = np.concatenate((kept.start, tail.start))
    wall = np.concatenate((kept.wall, tail.wall))
    during = wall[(start >= episode.since) & (start <= episode.until)]
    before = wall[(start >= episode.since - _BEFORE) & (start < episode.since)] if episode.begun else wall[:0]
    first = int(np.searchsorted(kept.start, episode.since))
    if episode.begun and len(before) < _STEPS:
        # A long run keeps few of its steps, and a slow one has few: take the last ones there are.
        before = kept.wall[max(0, first - _STEPS) : first]
    return replace(
        episode,
        step=int(kept.index[min(first, len(kept) - 1)]) if len(kept) else 0,
        step_before=_median(before),
        step_during=_median(during),
    )


def _median(wall: Floats) -> float:
    return float(np.median(wall)) if len(wall) >= _STEPS else math.nan
