"""Conditions of the machine, judged from one row of readings at a time. Pure, and without memory.

Each cause in the machine's area has one, in its module in `causes/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..agent.protocol.names import (
    GPU_LOST,
    GPU_MEMORY_OTHERS,
    GPU_MEMORY_OWN,
    GPU_PREFIX,
    GPU_UTILISATION_OTHERS,
    GPU_UTILISATION_OWN,
    TF_GPU_PREFIX,
    GaugeName,
)
from ..state.view import Gpu
from .names import CauseId

Readings = Mapping[GaugeName, float]
#: Returns the mean of a reading in the time before the condition; NaN if there was none.
Usual = Callable[[GaugeName], float]

#: A memory limit is full at this share: there is no room for one more batch.
FULL = 0.97


@dataclass(frozen=True, slots=True)
class Condition:
    """A state of the machine that slows the program."""

    cause: CauseId
    evidence: tuple[GaugeName, ...]
    """The names of the readings that show it."""
    share_lost: Callable[[Readings, Usual], float | None]
    """Returns the share of its time that the program loses, judging by the readings alone, or None while the
    condition does not hold."""
    per_gpu: bool = False
    """Whether it is judged for each GPU, and not once for the host."""


def is_unused(now: Readings) -> bool:
    """Return whether the driver lists other processes on the GPU but not the program."""
    others = now.get(GPU_MEMORY_OTHERS, 0.0) > 0 or now.get(GPU_UTILISATION_OTHERS, 0.0) > 0
    mine = now.get(GPU_UTILISATION_OWN, 0.0) > 0 or now.get(GPU_MEMORY_OWN, 0.0) > 0
    return others and not mine and GPU_MEMORY_OWN in now


def by_device(readings: Readings, gpus: Iterable[Gpu]) -> dict[str, dict[GaugeName, float]]:
    """Return the readings of each GPU the program can see by its label, and those of the host under "".

    TensorFlow's own figures, as `tf.memory`, are listed with the device that has TensorFlow's number; where no
    device is known to have it, under "TF 0".
    """
    gpus = tuple(gpus)
    hidden = {gpu.label for gpu in gpus if gpu.visible is False}
    numbers = {str(gpu.number): gpu.label for gpu in gpus if gpu.number is not None}
    if len(gpus) == 1 and gpus[0].visible is None:
        numbers = {"0": gpus[0].label}
    found: dict[str, dict[GaugeName, float]] = {"": {}}
    for name, value in readings.items():
        if name.startswith(GPU_PREFIX):
            _, label, what = name.split(".", 2)
        elif name.startswith(TF_GPU_PREFIX):
            _, _, number, what = name.split(".", 3)
            label, what = numbers.get(number, f"TF {number}"), f"tf.{what}"
        else:
            label, what = "", name
        found.setdefault(label, {})[GaugeName(what)] = value
    return {
        label: values for label, values in found.items() if label not in hidden and not values.get(GPU_LOST)
    }
