"""Rows for the host: memory, CPU, and what the system limits the program by. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ....diagnosis.causes.cpu_contention import READY
from ....diagnosis.causes.cpu_throttled import THROTTLED
from ....diagnosis.causes.memory_pressure import MAJOR, PRESSURE
from ....diagnosis.conditions import FULL
from ....state.recent_readings import KEPT
from ...format import digits, quantity
from .meter_rows import NA, MeterRow


def host_rows(readings: Mapping[str, float]) -> list[MeterRow]:
    if "machine.cpus" not in readings and "rss" not in readings:
        return [MeterRow("Host", ("no readings yet",))]
    return [
        MeterRow("Host", _machine(readings), title=True),
        _memory(readings),
        _cpu(readings),
        _others(readings),
        MeterRow("threads", _threads(readings)),
        _paging(readings),
        _pressure(readings),
        _quota(readings),
        _limit(readings),
        MeterRow("disk", (f"{_size(readings.get('disk.read'))}/s read, cache excluded",)),
        MeterRow("tfslowtop", _own_cost(readings)),
    ]


def _machine(readings: Mapping[str, float]) -> tuple[str, ...]:
    load = readings.get("machine.load")
    return (
        f"{_count(readings.get('machine.cpus'))} cores",
        f"load {digits(load) if load is not None else NA}",
        f"{_size(readings.get('machine.memory'))} of memory available",
    )


def _memory(readings: Mapping[str, float]) -> MeterRow:
    children = readings.get("children", 0.0)
    parts = [
        f"{_size(readings.get('rss'))} resident",
        f"{_size(readings.get('uss'))} private",
        (
            f"{_plural(children, 'child', 'children')} {_size(readings.get('children.rss'))}"
            if children
            else "no children"
        ),
    ]
    return MeterRow("memory", tuple(parts), "rss")


def _cpu(readings: Mapping[str, float]) -> MeterRow:
    wait, allowed, cores = (readings.get(n) for n in ("cpu.wait", "cpu.allowed", "machine.cpus"))
    parts = [f"{_percent(readings.get('cpu'))} of a core"]
    if readings.get("children"):
        parts.append(f"children {_percent(readings.get('children.cpu'))}")
    if allowed is not None and cores is not None and allowed < cores:
        parts.append(f"allowed on {allowed:.0f} of {cores:.0f} cores")
    parts.append(f"waits for a core {_percent(wait)} of the time")
    # On a scale of its own: one busy thread of 64 cores would be a line at the bottom.
    return MeterRow("CPU", tuple(parts), "cpu", trouble=(wait or 0.0) >= READY)


def _others(readings: Mapping[str, float]) -> MeterRow:
    parts = [
        f"{_percent(readings.get('machine.others'))} used by other processes",
        f"{_percent(readings.get('machine.cpu'))} of {_percent(_whole(readings))} in total",
    ]
    if readings.get("machine.steal", 0.0) >= 1:
        parts.append(f"{_percent(readings['machine.steal'])} stolen by other virtual machines")
    return MeterRow("others", tuple(parts), "machine.others", _whole(readings))


def _threads(readings: Mapping[str, float]) -> tuple[str, ...]:
    gave, lost = (readings.get(f"switches.{kind}") for kind in ("voluntary", "involuntary"))
    return (
        _count(readings.get("threads")),
        f"main thread: {_count(gave)} voluntary, {_count(lost)} involuntary switches/s",
    )


def _paging(readings: Mapping[str, float]) -> MeterRow:
    major, swapped = readings.get("faults.major"), readings.get("swap")
    parts = (
        f"{_count(readings.get('faults.minor'))} page faults/s",
        f"{_count(major)} of them from disk",
        f"{_size(swapped)} swapped out",
        f"machine {_size(readings.get('machine.swap'))}",
    )
    return MeterRow("paging", parts, trouble=(major or 0.0) >= MAJOR)


def _pressure(readings: Mapping[str, float]) -> MeterRow:
    found = {kind: readings.get(f"pressure.{kind}") for kind in ("cpu", "memory", "io")}
    if all(value is None for value in found.values()):
        return MeterRow("pressure", (f"{NA}: this kernel does not report it (PSI)",))
    cpu, memory, disk = map(_percent, found.values())
    parts = (f"tasks waited for a CPU {cpu}", f"memory {memory}", f"disks {disk} of the time")
    return MeterRow("pressure", parts, trouble=(found["memory"] or 0.0) >= PRESSURE)


def _quota(readings: Mapping[str, float]) -> MeterRow:
    quota, throttled, waited = (readings.get(f"cgroup.cpu.{n}") for n in ("quota", "throttled", "waited"))
    if quota is None:
        return MeterRow("CPU quota", ("none",))
    parts = (
        f"{quota:g} cores",
        f"used up in {_percent(throttled)} of the periods",
        f"{digits(waited) if waited is not None else NA} s lost per s",
    )
    return MeterRow("CPU quota", parts, trouble=(throttled or 0.0) >= THROTTLED)


def _limit(readings: Mapping[str, float]) -> MeterRow:
    limit, used, working = (readings.get(f"cgroup.memory{n}") for n in (".limit", "", ".working"))
    if limit is None:
        return MeterRow("mem. limit", ("none",))
    parts = (
        f"{_size(used)} of {_size(limit)}",
        f"{_size(working)} without reclaimable cache",
        f"reached {_count(readings.get('cgroup.memory.hits'))} times/s",
    )
    return MeterRow("mem. limit", parts, trouble=(working or 0.0) >= FULL * limit)


def _own_cost(readings: Mapping[str, float]) -> tuple[str, ...]:
    host, gpu = (readings.get(f"sensor.{kind}") for kind in ("host", "gpu"))
    return (
        f"reading the host costs {_fine(host)} of a core, the GPUs {_fine(gpu)}",
        f"curves show the last {KEPT // 60} min",
    )


def _whole(readings: Mapping[str, float]) -> float | None:
    cores = readings.get("machine.cpus")
    return 100.0 * cores if cores is not None else None


def _percent(value: float | None) -> str:
    return NA if value is None else f"{value:,.0f} %"


def _fine(value: float | None) -> str:
    return NA if value is None else f"{value:.2f} %"


def _count(value: float | None) -> str:
    return NA if value is None else f"{value:,.0f}"


def _plural(count: float, one: str, many: str) -> str:
    return f"{count:,.0f} {one if count == 1 else many}"


def _size(value: float | None) -> str:
    return NA if value is None else quantity(value, "B")
