"""Conditions of the machine, judged from one row of readings at a time. Pure, and without memory.

Each cause in the machine's area has one, in its module in `causes/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..state.view import Gpu
from .names import CauseId

Readings = Mapping[str, float]
#: Returns the mean of a reading in the time before the condition; NaN if there was none.
Usual = Callable[[str], float]

#: A memory limit is full at this share: there is no room for one more batch.
FULL = 0.97


@dataclass(frozen=True, slots=True)
class Condition:
    """A state of the machine that slows the program."""

    cause: CauseId
    evidence: tuple[str, ...]
    """The names of the readings that show it."""
    share_lost: Callable[[Readings, Usual], float | None]
    """Returns the share of its time that the program loses, judging by the readings alone, or None while the
    condition does not hold."""
    per_gpu: bool = False
    """Whether it is judged for each GPU, and not once for the host."""


def is_unused(now: Readings) -> bool:
    """Return whether the driver lists other processes on the GPU but not the program."""
    others = now.get("memory.others", 0.0) > 0 or now.get("utilisation.others", 0.0) > 0
    mine = now.get("utilisation.own", 0.0) > 0 or now.get("memory.own", 0.0) > 0
    return others and not mine and "memory.own" in now


def by_device(readings: Readings, gpus: Iterable[Gpu]) -> dict[str, dict[str, float]]:
    """Return the readings of each GPU the program can see by its label, and those of the host under "".

    TensorFlow's own figures, as `tf.memory`, are listed with the device that has TensorFlow's number; where no
    device is known to have it, under "TF 0".
    """
    gpus = tuple(gpus)
    hidden = {gpu.label for gpu in gpus if gpu.visible is False}
    numbers = {str(gpu.number): gpu.label for gpu in gpus if gpu.number is not None}
    if len(gpus) == 1 and gpus[0].visible is None:
        numbers = {"0": gpus[0].label}
    found: dict[str, dict[str, float]] = {"": {}}
    for name, value in readings.items():
        if name.startswith("gpu."):
            _, label, what = name.split(".", 2)
        elif name.startswith("tf.gpu."):
            _, _, number, what = name.split(".", 3)
            label, what = numbers.get(number, f"TF {number}"), f"tf.{what}"
        else:
            label, what = "", name
        found.setdefault(label, {})[what] = value
    return {
        label: values for label, values in found.items() if label not in hidden and not values.get("lost")
    }
