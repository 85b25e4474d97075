"""Readings of the sensors, in a form that a session takes like any event of the target's."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.protocol.events import Gauge
from .view import Gpu


@dataclass(frozen=True, slots=True)
class Sensed:
    """One reading of the machine and the process: dozens of values."""

    gauges: tuple[Gauge, ...]


@dataclass(frozen=True, slots=True)
class KnownGpus:
    """Which devices there are, or why there is none, in a sentence."""

    gpus: tuple[Gpu, ...]
    reason: str


Reading = Sensed | KnownGpus
