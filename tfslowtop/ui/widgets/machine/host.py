"""Rows for the host: memory, CPU, and what the system limits the program by. Pure."""

from __future__ import annotations

from ....agent.protocol.names import (
    GAUGE_CGROUP_LIMIT_HITS,
    GAUGE_CGROUP_MEMORY,
    GAUGE_CGROUP_MEMORY_LIMIT,
    GAUGE_CGROUP_QUOTA,
    GAUGE_CGROUP_THROTTLED,
    GAUGE_CGROUP_WAITED,
    GAUGE_CGROUP_WORKING_MEMORY,
    GAUGE_CHILDREN,
    GAUGE_CHILDREN_CPU,
    GAUGE_CHILDREN_RSS,
    GAUGE_CPU,
    GAUGE_CPU_WAIT,
    GAUGE_CPUS_ALLOWED,
    GAUGE_DISK_READ,
    GAUGE_INVOLUNTARY_SWITCHES,
    GAUGE_MACHINE_CPU,
    GAUGE_MACHINE_CPUS,
    GAUGE_MACHINE_LOAD,
    GAUGE_MACHINE_MEMORY,
    GAUGE_MACHINE_OTHERS,
    GAUGE_MACHINE_STEAL,
    GAUGE_MACHINE_SWAP,
    GAUGE_MAJOR_FAULTS,
    GAUGE_MINOR_FAULTS,
    GAUGE_PRESSURE_CPU,
    GAUGE_PRESSURE_IO,
    GAUGE_PRESSURE_MEMORY,
    GAUGE_RSS,
    GAUGE_SENSOR_GPU,
    GAUGE_SENSOR_HOST,
    GAUGE_SWAP,
    GAUGE_THREADS,
    GAUGE_USS,
    GAUGE_VOLUNTARY_SWITCHES,
)
from ....diagnosis.causes.cpu_contention import READY
from ....diagnosis.causes.cpu_throttled import THROTTLED
from ....diagnosis.causes.memory_pressure import MAJOR, PRESSURE
from ....diagnosis.conditions import FULL, Readings
from ....state.recent_readings import KEPT
from ...format import digits, quantity
from .meter_rows import NA, MeterRow


def host_rows(readings: Readings) -> list[MeterRow]:
    if GAUGE_MACHINE_CPUS not in readings and GAUGE_RSS not in readings:
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
        MeterRow("disk", (f"{_size(readings.get(GAUGE_DISK_READ))}/s read, cache excluded",)),
        MeterRow("tfslowtop", _own_cost(readings)),
    ]


def _machine(readings: Readings) -> tuple[str, ...]:
    load = readings.get(GAUGE_MACHINE_LOAD)
    return (
        f"{_count(readings.get(GAUGE_MACHINE_CPUS))} cores",
        f"load {digits(load) if load is not None else NA}",
        f"{_size(readings.get(GAUGE_MACHINE_MEMORY))} of memory available",
    )


def _memory(readings: Readings) -> MeterRow:
    children = readings.get(GAUGE_CHILDREN, 0.0)
    parts = [
        f"{_size(readings.get(GAUGE_RSS))} resident",
        f"{_size(readings.get(GAUGE_USS))} private",
        (
            f"{_plural(children, 'child', 'children')} {_size(readings.get(GAUGE_CHILDREN_RSS))}"
            if children
            else "no children"
        ),
    ]
    return MeterRow("memory", tuple(parts), GAUGE_RSS)


def _cpu(readings: Readings) -> MeterRow:
    wait, allowed, cores = (readings.get(n) for n in (GAUGE_CPU_WAIT, GAUGE_CPUS_ALLOWED, GAUGE_MACHINE_CPUS))
    parts = [f"{_percent(readings.get(GAUGE_CPU))} of a core"]
    if readings.get(GAUGE_CHILDREN):
        parts.append(f"children {_percent(readings.get(GAUGE_CHILDREN_CPU))}")
    if allowed is not None and cores is not None and allowed < cores:
        parts.append(f"allowed on {allowed:.0f} of {cores:.0f} cores")
    parts.append(f"waits for a core {_percent(wait)} of the time")
    # On a scale of its own: one busy thread of 64 cores would be a line at the bottom.
    return MeterRow("CPU", tuple(parts), GAUGE_CPU, trouble=(wait or 0.0) >= READY)


def _others(readings: Readings) -> MeterRow:
    parts = [
        f"{_percent(readings.get(GAUGE_MACHINE_OTHERS))} used by other processes",
        f"{_percent(readings.get(GAUGE_MACHINE_CPU))} of {_percent(_whole(readings))} in total",
    ]
    if readings.get(GAUGE_MACHINE_STEAL, 0.0) >= 1:
        parts.append(f"{_percent(readings[GAUGE_MACHINE_STEAL])} stolen by other virtual machines")
    return MeterRow("others", tuple(parts), GAUGE_MACHINE_OTHERS, _whole(readings))


def _threads(readings: Readings) -> tuple[str, ...]:
    gave, lost = (readings.get(n) for n in (GAUGE_VOLUNTARY_SWITCHES, GAUGE_INVOLUNTARY_SWITCHES))
    return (
        _count(readings.get(GAUGE_THREADS)),
        f"main thread: {_count(gave)} voluntary, {_count(lost)} involuntary switches/s",
    )


def _paging(readings: Readings) -> MeterRow:
    major, swapped = readings.get(GAUGE_MAJOR_FAULTS), readings.get(GAUGE_SWAP)
    parts = (
        f"{_count(readings.get(GAUGE_MINOR_FAULTS))} page faults/s",
        f"{_count(major)} of them from disk",
        f"{_size(swapped)} swapped out",
        f"machine {_size(readings.get(GAUGE_MACHINE_SWAP))}",
    )
    return MeterRow("paging", parts, trouble=(major or 0.0) >= MAJOR)


def _pressure(readings: Readings) -> MeterRow:
    found = {n: readings.get(n) for n in (GAUGE_PRESSURE_CPU, GAUGE_PRESSURE_MEMORY, GAUGE_PRESSURE_IO)}
    if all(value is None for value in found.values()):
        return MeterRow("pressure", (f"{NA}: this kernel does not report it (PSI)",))
    cpu, memory, disk = map(_percent, found.values())
    parts = (f"tasks waited for a CPU {cpu}", f"memory {memory}", f"disks {disk} of the time")
    return MeterRow("pressure", parts, trouble=(found[GAUGE_PRESSURE_MEMORY] or 0.0) >= PRESSURE)


def _quota(readings: Readings) -> MeterRow:
    quota, throttled, waited = (
        readings.get(n) for n in (GAUGE_CGROUP_QUOTA, GAUGE_CGROUP_THROTTLED, GAUGE_CGROUP_WAITED)
    )
    if quota is None:
        return MeterRow("CPU quota", ("none",))
    parts = (
        f"{quota:g} cores",
        f"used up in {_percent(throttled)} of the periods",
        f"{digits(waited) if waited is not None else NA} s lost per s",
    )
    return MeterRow("CPU quota", parts, trouble=(throttled or 0.0) >= THROTTLED)


def _limit(readings: Readings) -> MeterRow:
    limit, used, working = (
        readings.get(n) for n in (GAUGE_CGROUP_MEMORY_LIMIT, GAUGE_CGROUP_MEMORY, GAUGE_CGROUP_WORKING_MEMORY)
    )
    if limit is None:
        return MeterRow("mem. limit", ("none",))
    parts = (
        f"{_size(used)} of {_size(limit)}",
        f"{_size(working)} without reclaimable cache",
        f"reached {_count(readings.get(GAUGE_CGROUP_LIMIT_HITS))} times/s",
    )
    return MeterRow("mem. limit", parts, trouble=(working or 0.0) >= FULL * limit)


def _own_cost(readings: Readings) -> tuple[str, ...]:
    host, gpu = (readings.get(n) for n in (GAUGE_SENSOR_HOST, GAUGE_SENSOR_GPU))
    return (
        f"reading the host costs {_fine(host)} of a core, the GPUs {_fine(gpu)}",
        f"curves show the last {KEPT // 60} min",
    )


def _whole(readings: Readings) -> float | None:
    cores = readings.get(GAUGE_MACHINE_CPUS)
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
