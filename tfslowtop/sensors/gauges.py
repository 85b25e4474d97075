"""Readings as gauges, the form in which they are drawn, recorded and judged.

All figures are as they are read, or rates over about the last second. CPU is in percent of one core, sizes in
bytes. A value that is missing makes no gauge. One that has not changed is repeated once a second only, so a
gauge holds until the next of its name.

| name | what | unit |
| --- | --- | --- |
| state | position in `procfs.STATES`: running, sleeping, stopped, zombie, gone | |
| rss, uss, swap | memory of the target: resident, its alone, swapped out | bytes |
| cpu | CPU time of the target | % of a core |
| cpu.wait | time in which its threads were ready and had no CPU, of what they wanted | % |
| cpu.allowed | cores on which it may run | |
| threads | | |
| switches.voluntary, switches.involuntary | context switches of the main thread | per s |
| faults.minor, faults.major | page faults without and with a disk | per s |
| disk.read | read from disks, not from the cache | bytes per s |
| children, children.rss | descendants: how many, their memory | , bytes |
| children.cpu | CPU time of the descendants | % of a core |
| machine.cpus | cores of the machine | |
| machine.cpu, machine.others | used by all; by all but the target and its children | % of a core |
| machine.steal | taken by other guests of the physical machine | % of a core |
| machine.load | load average over a minute | |
| machine.memory, machine.swap | memory still available, swap in use | bytes |
| pressure.cpu, .memory, .io | some task of the cgroup (else the machine) waited | % of time |
| cgroup.cpu.quota | the tightest CPU quota | cores |
| cgroup.cpu.throttled | enforcement periods in which the quota ran out | % of periods |
| cgroup.cpu.waited | time lost to the quota, over all cores | s per s |
| cgroup.memory, .memory.working, .memory.limit | used, that without droppable cache, the limit | bytes |
| cgroup.memory.hits | allocations that met the limit | per s |
| cgroup.memory.refaults | pages that had made room and were wanted again | per s |
| gpu.N.memory, gpu.N.memory.total | of device N; a MIG slice is `gpu.0:1` | bytes |
| gpu.N.memory.own, gpu.N.memory.others | of the target's family, of other processes | bytes |
| gpu.N.utilisation, .own, .others | time in which a kernel ran; by whom | % |
| gpu.N.clock, gpu.N.clock.max | of the multiprocessors | MHz |
| gpu.N.throttle | why the clock is low; `nvml.throttle_words(int(value))` | bits |
| gpu.N.temperature, gpu.N.power, gpu.N.power.limit | | °C, W |
| gpu.N.pcie.rx, gpu.N.pcie.tx | to and from the device | bytes per s |
| gpu.N.lost | 1 when the device has fallen off, 0 else | |
| sensor.host, sensor.gpu | what our own looking costs | % of a core |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ..agent.protocol import names
from ..agent.protocol.events import Gauge
from ..agent.protocol.names import GaugeName, gpu_gauge
from .gpu import GpuDevice, GpuReading
from .host import HostReading
from .procfs import STATES

_SECOND = 1_000_000_000

_Values = Iterator[tuple[GaugeName, float | None]]


class GaugeMaker:
    """Turns readings into gauges; keeps a second of them for the rates, and the last value of each."""

    def __init__(self) -> None:
        self._hosts: deque[HostReading] = deque()
        self._said: dict[GaugeName, Gauge] = {}

    def host(self, reading: HostReading) -> list[Gauge]:
        # A process that has ended, or another pid, has no rate relative to what was before.
        if self._hosts and (self._hosts[-1].pid != reading.pid or reading.state == "gone"):
            self._hosts.clear()
        self._hosts.append(reading)
        while len(self._hosts) > 2 and reading.at - self._hosts[1].at >= _SECOND:
            self._hosts.popleft()
        return self._new(reading.at, _host(reading, self._hosts[0]))

    def gpu(self, reading: GpuReading) -> list[Gauge]:
        return self._new(reading.at, (pair for device in reading.devices for pair in _device(device)))

    def _new(self, at: int, values: _Values) -> list[Gauge]:
        found = []
        for name, value in values:
            if value is None:
                continue
            last = self._said.get(name)
            # A little under a second: readings that come once a second must not miss their turn.
            if last is not None and last.value == value and at - last.at < 0.95 * _SECOND:
                continue
            gauge = self._said[name] = Gauge(name, at, float(value))
            found.append(gauge)
        return found


def _host(now: HostReading, then: HostReading) -> _Values:
    mine, before, seconds = now.process, then.process, (now.at - then.at) / _SECOND

    def rate(new: float | None, old: float | None) -> float | None:
        if new is None or old is None or seconds <= 0:
            return None
        return max(0.0, (new - old) / seconds)

    yield names.GAUGE_STATE, float(STATES.index(now.state))
    yield names.GAUGE_RSS, mine.rss
    yield names.GAUGE_USS, mine.uss
    yield names.GAUGE_SWAP, mine.swap
    yield names.GAUGE_CPU, mine.cpu
    yield names.GAUGE_CPU_WAIT, mine.cpu_wait
    yield names.GAUGE_CPUS_ALLOWED, mine.cpus_allowed
    yield names.GAUGE_THREADS, mine.threads
    yield names.GAUGE_VOLUNTARY_SWITCHES, rate(mine.switches_voluntary, before.switches_voluntary)
    yield names.GAUGE_INVOLUNTARY_SWITCHES, rate(mine.switches_involuntary, before.switches_involuntary)
    yield names.GAUGE_MINOR_FAULTS, rate(mine.faults_minor, before.faults_minor)
    yield names.GAUGE_MAJOR_FAULTS, rate(mine.faults_major, before.faults_major)
    yield names.GAUGE_DISK_READ, rate(mine.disk_read, before.disk_read)
    yield names.GAUGE_CHILDREN, float(len(now.children.pids)) if now.state != "gone" else None
    yield names.GAUGE_CHILDREN_RSS, now.children.rss
    yield names.GAUGE_CHILDREN_CPU, now.children.cpu
    yield names.GAUGE_MACHINE_CPUS, now.machine.cpus
    yield names.GAUGE_MACHINE_CPU, now.machine.cpu
    yield names.GAUGE_MACHINE_OTHERS, now.machine.others
    yield names.GAUGE_MACHINE_STEAL, now.machine.steal
    yield names.GAUGE_MACHINE_LOAD, now.machine.load
    yield names.GAUGE_MACHINE_MEMORY, now.machine.memory_available
    yield names.GAUGE_MACHINE_SWAP, now.machine.swap_used
    yield names.GAUGE_PRESSURE_CPU, now.pressure.cpu
    yield names.GAUGE_PRESSURE_MEMORY, now.pressure.memory
    yield names.GAUGE_PRESSURE_IO, now.pressure.io
    group, earlier = now.cgroup, then.cgroup
    yield names.GAUGE_CGROUP_QUOTA, group.cpu_quota
    periods = rate(group.periods, earlier.periods)
    throttled = rate(group.throttled_periods, earlier.throttled_periods)
    # Periods only pass while the group has something to run: no periods, no throttling.
    share = throttled / periods if throttled and periods else 0.0
    yield names.GAUGE_CGROUP_THROTTLED, min(100.0, 100.0 * share) if throttled is not None else None
    yield names.GAUGE_CGROUP_WAITED, rate(group.throttled_seconds, earlier.throttled_seconds)
    yield names.GAUGE_CGROUP_MEMORY, group.memory
    yield names.GAUGE_CGROUP_WORKING_MEMORY, group.memory_working
    yield names.GAUGE_CGROUP_MEMORY_LIMIT, group.memory_limit
    yield names.GAUGE_CGROUP_LIMIT_HITS, rate(group.limit_hits, earlier.limit_hits)
    yield names.GAUGE_CGROUP_REFAULTS, rate(group.refaults, earlier.refaults)


def _device(device: GpuDevice) -> _Values:
    label = device.label
    yield gpu_gauge(label, names.GPU_MEMORY), device.memory_used
    yield gpu_gauge(label, names.GPU_MEMORY_TOTAL), device.memory_total
    yield gpu_gauge(label, names.GPU_MEMORY_OWN), device.memory_own
    yield gpu_gauge(label, names.GPU_MEMORY_OTHERS), device.memory_others
    yield gpu_gauge(label, names.GPU_UTILISATION), device.utilisation
    yield gpu_gauge(label, names.GPU_UTILISATION_OWN), device.utilisation_own
    yield gpu_gauge(label, names.GPU_UTILISATION_OTHERS), device.utilisation_others
    yield gpu_gauge(label, names.GPU_CLOCK), device.clock
    yield gpu_gauge(label, names.GPU_CLOCK_MAX), device.clock_max
    yield gpu_gauge(label, names.GPU_THROTTLE), device.throttle
    yield gpu_gauge(label, names.GPU_TEMPERATURE), device.temperature
    yield gpu_gauge(label, names.GPU_POWER), device.power
    yield gpu_gauge(label, names.GPU_POWER_LIMIT), device.power_limit
    yield gpu_gauge(label, names.GPU_PCIE_RX), device.pcie_rx
    yield gpu_gauge(label, names.GPU_PCIE_TX), device.pcie_tx
    yield gpu_gauge(label, names.GPU_LOST), float(device.lost)
