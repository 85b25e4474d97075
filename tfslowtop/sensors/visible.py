"""Which devices CUDA shows the target, and under which number: CUDA_VISIBLE_DEVICES as CUDA reads it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import psutil

#: Seconds that a new process may take to have an environment.
_STARTING = 0.2


@dataclass(frozen=True, slots=True)
class Known:
    """A device as the driver lists it; a MIG slice is a device of its own, inside a `parent`."""

    label: str
    uuid: str | None
    name: str | None
    parent: str | None = None


def cuda_numbers(value: str | None, order: str | None, devices: Sequence[Known]) -> dict[str, int] | None:
    """Map labels to CUDA's number for each visible device; None when that is unknown from outside.

    `value` and `order` are the target's CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, None if unset.
    """
    parents = {each.parent for each in devices if each.parent is not None}
    whole = [each for each in devices if each.parent is None]
    sliced = bool(parents)
    # By default CUDA puts the fastest first, and the driver does not say which that is. Among equals, as in
    # nearly all machines, the order is that of the bus, which is also the driver's.
    ordered = order == "PCI_BUS_ID" or len({each.name for each in whole}) <= 1
    if value is None:
        return {each.label: n for n, each in enumerate(whole)} if ordered and not sliced else None
    numbers: dict[str, int] = {}
    by_number: bool | None = None
    for word in (part.strip() for part in value.split(",")):
        is_number = word.isdigit()
        if by_number is not None and is_number != by_number:
            break
        by_number = is_number
        if is_number and (not ordered or sliced):
            return None
        found = _by_number(int(word), whole) if is_number else _by_uuid(word, devices)
        # CUDA uses what precedes the first invalid entry, so that -1 and an empty value hide everything.
        if found is None:
            break
        if found in numbers:
            return {}
        numbers[found] = len(numbers)
    return numbers


def told_to(pid: int) -> tuple[str | None, str | None]:
    """Return CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER with which the process was started.

    What a program sets in its own os.environ does not show here: see `parse_cuda_variables`.
    """
    try:
        environment = psutil.Process(pid).environ()
        end = time.monotonic() + _STARTING
        # A process that is just starting has none yet: for a moment the kernel shows an empty one.
        while not environment and time.monotonic() < end:
            time.sleep(0.002)
            environment = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return None, None
    return _both(environment)


def parse_cuda_variables(shown: Iterable[str]) -> tuple[str | None, str | None]:
    """Return the same as the agent reports it (`About.shown`): as of when TensorFlow chose its devices."""
    return _both(dict(each.partition("=")[::2] for each in shown))


def _both(environment: Mapping[str, str]) -> tuple[str | None, str | None]:
    return environment.get("CUDA_VISIBLE_DEVICES"), environment.get("CUDA_DEVICE_ORDER")


def _by_number(number: int, whole: Sequence[Known]) -> str | None:
    return whole[number].label if number < len(whole) else None


def _by_uuid(start: str, devices: Sequence[Known]) -> str | None:
    """Match the start of a UUID, which is enough if only one device begins with it."""
    if not start.startswith(("GPU-", "MIG-")):
        return None
    found = [each.label for each in devices if each.uuid is not None and each.uuid.startswith(start)]
    return found[0] if len(found) == 1 else None
