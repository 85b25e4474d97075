"""One GPU, or one MIG slice of it: what the driver reports about it now."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .nvml import NOT_FOUND, Nvml, throttle_words

#: Constants of NVML.
_CLOCK_SM, _TEMPERATURE_CORE, _PCIE_TX, _PCIE_RX = 1, 0, 0, 1


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process on a device, under the pid that the driver reports."""

    pid: int
    memory: float | None


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """One device. Bytes, percent, MHz, °C, watts, bytes per second; None where the driver reports nothing."""

    #: "0", or "0:1" for its second MIG slice. Stays with the device when others fall off.
    label: str
    index: int
    mig: int | None = None
    uuid: str | None = None
    name: str | None = None
    #: The number under which CUDA, and so TensorFlow, knows it ("GPU:0"); None if hidden or unknown.
    cuda_number: int | None = None
    #: Whether CUDA_VISIBLE_DEVICES shows it to the target; None if that is unknown from outside.
    visible: bool | None = None
    #: It answered before and no longer does.
    lost: bool = False
    memory_used: float | None = None
    memory_total: float | None = None
    #: Of the target with its children, and of everyone else; None where pids are useless (containers).
    memory_own: float | None = None
    memory_others: float | None = None
    processes: tuple[GpuProcess, ...] | None = None
    utilisation: float | None = None
    utilisation_own: float | None = None
    utilisation_others: float | None = None
    clock: float | None = None
    clock_max: float | None = None
    #: The driver's bits for why the clock is lowered; `throttles` has them as words.
    throttle: int | None = None
    temperature: float | None = None
    power: float | None = None
    power_limit: float | None = None
    pcie_rx: float | None = None
    pcie_tx: float | None = None

    @property
    def throttles(self) -> tuple[str, ...]:
        return throttle_words(self.throttle or 0)


_Processes = tuple[GpuProcess, ...] | None


@dataclass(slots=True)
class Slot:
    """What is kept about a device between two reads."""

    label: str
    index: int
    handle: Any = None
    #: The whole GPU of a MIG slice: clocks, heat and power are only reported for that one.
    whole: Any = None
    mig: int | None = None
    uuid: str | None = None
    name: str | None = None
    lost: bool = False
    clock_max: float | None = None
    pcie: tuple[float | None, float | None] = (None, None)
    slow: Slow | None = None


@dataclass(frozen=True, slots=True)
class Slow:
    """What changes slowly, or is read less often in a machine with many devices."""

    processes: _Processes
    temperature: float | None
    power: float | None
    power_limit: float | None


def read_device(
    nvml: Nvml, slot: Slot, pids: Collection[int], certain: bool, with_pcie: bool, with_slow: bool = True
) -> GpuDevice:
    """Read a device. `pids` are the target's; `certain` means that a pid which is not listed is not on the
    device."""
    handle, whole = slot.handle, slot.whole
    memory = nvml.first(
        handle,
        # Version 2 excludes what the driver itself has reserved, as nvidia-smi does.
        ("nvmlDeviceGetMemoryInfo", nvml.constant("nvmlMemory_v2", 0x02000028)),
        ("nvmlDeviceGetMemoryInfo",),
    )
    slow = slot.slow if slot.slow is not None and not with_slow else _slow(nvml, handle, whole)
    slot.slow, processes = slow, slow.processes
    use = _use(nvml, handle) if slot.mig is None else None
    rates = nvml.ask("nvmlDeviceGetUtilizationRates", handle)
    if slot.clock_max is None:
        slot.clock_max = _number(nvml.ask("nvmlDeviceGetMaxClockInfo", whole, _CLOCK_SM))
    if with_pcie:
        # The driver measures for 20 ms before it answers, so only one device in each read.
        rx = _number(nvml.ask("nvmlDeviceGetPcieThroughput", whole, _PCIE_RX), 1024)
        slot.pcie = rx, _number(nvml.ask("nvmlDeviceGetPcieThroughput", whole, _PCIE_TX), 1024)
    return GpuDevice(
        label=slot.label,
        index=slot.index,
        mig=slot.mig,
        uuid=slot.uuid,
        name=slot.name,
        memory_used=_number(getattr(memory, "used", None)),
        memory_total=_number(getattr(memory, "total", None)),
        memory_own=_own_memory(processes, pids, certain),
        memory_others=_others_memory(processes, pids, certain),
        processes=processes,
        utilisation=_number(getattr(rates, "gpu", None)),
        utilisation_own=_share(use, pids, certain, own=True),
        utilisation_others=_share(use, pids, certain, own=False),
        clock=_number(nvml.ask("nvmlDeviceGetClockInfo", whole, _CLOCK_SM)),
        clock_max=slot.clock_max,
        throttle=nvml.first(
            whole, ("nvmlDeviceGetCurrentClocksEventReasons",), ("nvmlDeviceGetCurrentClocksThrottleReasons",)
        ),
        temperature=slow.temperature,
        power=slow.power,
        power_limit=slow.power_limit,
        pcie_rx=slot.pcie[0],
        pcie_tx=slot.pcie[1],
    )


def _slow(nvml: Nvml, handle: Any, whole: Any) -> Slow:
    core = _TEMPERATURE_CORE
    heat = nvml.first(whole, ("nvmlDeviceGetTemperature", core), ("nvmlDeviceGetTemperatureV", core))
    limits = (("nvmlDeviceGetEnforcedPowerLimit",), ("nvmlDeviceGetPowerManagementLimit",))
    return Slow(
        processes=_processes(nvml, handle),
        temperature=_number(heat),
        power=_number(nvml.ask("nvmlDeviceGetPowerUsage", whole), 1e-3),
        power_limit=_number(nvml.first(whole, *limits), 1e-3),
    )


def _processes(nvml: Nvml, handle: Any) -> _Processes:
    found: dict[int, float | None] = {}
    names = [f"nvmlDeviceGet{kind}RunningProcesses" for kind in ("Compute", "Graphics")]
    lists = [nvml.first(handle, (name,), (name + "_v2",)) for name in names]
    if all(each is None for each in lists):
        return None
    for process in (each for listed in lists for each in listed or ()):
        memory = _number(getattr(process, "usedGpuMemory", None))
        # A process that computes and draws is in both lists, with the same memory.
        found[process.pid] = max(memory, found.get(process.pid) or 0.0) if memory is not None else None
    return tuple(GpuProcess(pid, memory) for pid, memory in sorted(found.items()))


def _use(nvml: Nvml, handle: Any) -> dict[int, float] | None:
    """Return percent of the device by pid, the newest of the last 2 s: the driver samples about once a
    second."""
    since = time.time_ns() // 1000 - 2_000_000
    samples = nvml.ask("nvmlDeviceGetProcessUtilization", handle, since)
    if samples is None:
        # Not found: nobody used the device. Zero: pynvml takes an empty list for an error.
        return {} if nvml.refused in (0, NOT_FOUND) else None
    fresh = sorted((sample.timeStamp, sample.pid, sample.smUtil) for sample in samples)
    # A driver may leave garbage in entries that it did not fill; no share exceeds 100.
    return {pid: float(percent) for _, pid, percent in fresh if pid and percent <= 100}


def _own_memory(processes: _Processes, pids: Collection[int], certain: bool) -> float | None:
    own = [each.memory for each in processes or () if each.pid in pids]
    if processes is None or not pids or not (own or certain):
        return None
    return None if None in own else sum((each or 0.0 for each in own), 0.0)


def _others_memory(processes: _Processes, pids: Collection[int], certain: bool) -> float | None:
    if processes is None or not pids or not (certain or any(each.pid in pids for each in processes)):
        return None
    others = [each.memory for each in processes if each.pid not in pids]
    return None if None in others else sum((each or 0.0 for each in others), 0.0)


def _share(use: dict[int, float] | None, pids: Collection[int], certain: bool, own: bool) -> float | None:
    if use is None or not pids or not (certain or any(pid in pids for pid in use)):
        return None
    return min(100.0, sum((percent for pid, percent in use.items() if (pid in pids) == own), 0.0))


def _number(value: Any, factor: float = 1.0) -> float | None:
    return float(value * factor) if isinstance(value, (int, float)) else None
