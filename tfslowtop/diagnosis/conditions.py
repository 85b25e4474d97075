"""What the machine does to the program right now, judged from one row of readings. Pure, and without memory.

A condition gives the share of its time that the program loses while it holds, as far as the readings alone
tell it, or None while it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..state.view import Gpu

Readings = Mapping[str, float]
#: The mean of a reading in the time before; NaN if there was none.
Usual = Callable[[str], float]

#: Threads were ready and had no core, percent of the time that they wanted. Less is found on any shared machine; two busy
#: neighbours on two cores take a third.
READY = 30.0
#: What others use of the cores that the program may use: with less than half, it is in its own way.
CROWDED = 0.5
#: Periods in which the cgroup's quota ran out, percent, and seconds lost per second. A burst now and then is
#: what a quota is for.
THROTTLED = 25.0
LOST = 0.1
#: Page faults per second that had to wait for a disk: a program that reads its libraries has as many for a
#: moment, and none afterwards.
MAJOR = 50.0
#: What an SSD takes to bring a page, in seconds: the least that such a fault costs.
DISK = 1e-4
#: Bytes in swap. The kernel moves some that nobody needs there even with memory to spare.
SWAPPED = 50e6
#: How full a limit is when there is no room for one more batch.
FULL = 0.97
#: Percent of the time in which some task waited for memory. Cache that makes room for more of itself costs a
#: few.
PRESSURE = 20.0
#: NVML's bits for clocks lowered by heat or by the hardware itself: thermal slowdown (0x20, 0x40), hardware
#: slowdown (0x8) and power brake (0x80).
HEAT = 0x20 | 0x40 | 0x8 | 0x80
#: The power cap. At full load it is how GPUs are run (an H100 then has some 75 % of its highest clock), so it
#: is told only if the clock falls far below what it was before: somebody has lowered the limit.
CAP = 0x4
SLOWED, CAPPED = 0.8, 0.7
#: Percent of time in which a kernel runs. A GPU with less to do is not what the program waits for.
BUSY = 30.0
#: What others use of a GPU, percent of the time.
OTHERS = 20.0
#: What others hold of a full GPU, as a share: TensorFlow itself takes nearly all that there is.
HELD = 0.3


@dataclass(frozen=True, slots=True)
class Condition:
    cause: str
    shown: tuple[str, ...]
    """The readings that are its evidence."""
    holds: Callable[[Readings, Usual], float | None]


def _cpu_throttled(now: Readings, usual: Usual) -> float | None:
    lost = now.get("cgroup.cpu.waited", 0.0)
    if now.get("cgroup.cpu.throttled", 0.0) < THROTTLED or lost < LOST:
        return None
    # All its threads stand still together: what they lost against what they wanted.
    used = (now.get("cpu", 0.0) + now.get("children.cpu", 0.0)) / 100
    return lost / (lost + used)


def _cpu_contention(now: Readings, usual: Usual) -> float | None:
    wait, others = now.get("cpu.wait", 0.0), now.get("machine.others", 0.0)
    cores = now.get("cpu.allowed") or now.get("machine.cpus", 1.0)
    if wait < READY or others < 100 * CROWDED * cores or _cpu_throttled(now, usual) is not None:
        return None
    return wait / 100


def _memory_pressure(now: Readings, usual: Usual) -> float | None:
    pressure, major = now.get("pressure.memory", 0.0), now.get("faults.major", 0.0)
    swapping = major >= MAJOR and now.get("swap", 0.0) >= SWAPPED
    limit = now.get("cgroup.memory.limit", 0.0)
    full = 0 < FULL * limit <= now.get("cgroup.memory", 0.0)
    # Reading a data set fills a limit, too, and harms nobody. It counts when tasks wait for memory, when pages
    # that had to go are wanted again, or when nothing is left that could go and more is wanted.
    again = major >= MAJOR and now.get("cgroup.memory.refaults", 0.0) >= MAJOR
    more = now.get("cgroup.memory.hits", 0.0) > 1 and now.get("cgroup.memory.working", 0.0) >= FULL * limit
    if not (swapping or (full and (pressure >= PRESSURE or again or more))):
        return None
    return min(1.0, max(pressure / 100, DISK * major))


def _gpu_throttled(now: Readings, usual: Usual) -> float | None:
    bits, busy = int(now.get("throttle", 0)), now.get("utilisation", 0.0)
    clock, top = now.get("clock", 0.0), now.get("clock.max", 0.0)
    if busy < BUSY or not clock or unused(now):
        return None
    if bits & HEAT and clock < SLOWED * top:
        before = usual("clock") if usual("clock") > clock else top
    elif bits & CAP and clock < CAPPED * usual("clock") and usual("utilisation") >= BUSY:
        before = usual("clock")
    else:
        return None
    return (1 - clock / before) * busy / 100


def _gpu_contention(now: Readings, usual: Usual) -> float | None:
    others, busy = now.get("utilisation.others", 0.0), now.get("utilisation", 0.0)
    if others < OTHERS or busy < BUSY or unused(now):
        return None
    # As far as the device was full: what others had then, the program did not.
    return others / 100 * busy / 100


def _gpu_memory_full(now: Readings, usual: Usual) -> float | None:
    total = now.get("memory.total", 0.0)
    full = 0 < FULL * total <= now.get("memory", 0.0)
    by_others = full and now.get("memory.others", 0.0) >= HELD * total and not unused(now)
    # How much slower that makes the steps, memory does not say.
    return 0.0 if by_others or pool_full(now) else None


def pool_full(now: Readings) -> bool:
    """Of TensorFlow's own pool. Its peak counts: between two readings each step fills and frees it."""
    limit = now.get("tf.limit", 0.0)
    return 0 < FULL * limit <= max(now.get("tf.memory", 0.0), now.get("tf.peak", 0.0))


def unused(now: Readings) -> bool:
    """Whether the driver lists others on the device and not the program."""
    others = now.get("memory.others", 0.0) > 0 or now.get("utilisation.others", 0.0) > 0
    mine = now.get("utilisation.own", 0.0) > 0 or now.get("memory.own", 0.0) > 0
    return others and not mine and "memory.own" in now


HOST = (
    Condition(
        "cpu-throttled",
        ("cgroup.cpu.throttled", "cgroup.cpu.waited", "cgroup.cpu.quota"),
        _cpu_throttled,
    ),
    Condition(
        "cpu-contention",
        ("cpu.wait", "machine.others", "machine.cpus"),
        _cpu_contention,
    ),
    Condition(
        "memory-pressure",
        (
            "swap",
            "faults.major",
            "pressure.memory",
            "cgroup.memory",
            "cgroup.memory.limit",
            "cgroup.memory.hits",
        ),
        _memory_pressure,
    ),
)
DEVICE = (
    Condition(
        "gpu-throttled",
        ("clock", "clock.max", "utilisation", "temperature", "power", "power.limit", "throttle"),
        _gpu_throttled,
    ),
    Condition("gpu-contention", ("utilisation.others", "utilisation"), _gpu_contention),
    Condition(
        "gpu-memory-full",
        ("memory", "memory.total", "memory.others", "tf.memory", "tf.peak", "tf.limit"),
        _gpu_memory_full,
    ),
)


def by_device(readings: Readings, gpus: Iterable[Gpu]) -> dict[str, dict[str, float]]:
    """The readings of each GPU that the program can see, by its label; those of the host under "".

    What TensorFlow says stands with the device that has its number, as `tf.memory`; where no device is known
    to have it, under "TF 0".
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
