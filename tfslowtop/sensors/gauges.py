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

from tfslowtop.agent.protocol.events import Gauge
from tfslowtop.sensors.gpu import GpuDevice, GpuReading
from tfslowtop.sensors.host import HostReading
from tfslowtop.sensors.procfs import STATES

_SECOND = 1_000_000_000

_Values = Iterator[tuple[str, float | None]]


class Gauges:
    """Makes gauges of readings; keeps a second of them for the rates, and what was said last."""

    def __init__(self) -> None:
        self._hosts: deque[HostReading] = deque()
        self._said: dict[str, Gauge] = {}

    def host(self, reading: HostReading) -> list[Gauge]:
        # A process that has gone, or another pid, has no rate against what was before it.
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
            # A little under a second: readings that come once a second must not be late by one.
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

    yield "state", float(STATES.index(now.state))
    yield "rss", mine.rss
    yield "uss", mine.uss
    yield "swap", mine.swap
    yield "cpu", mine.cpu
    yield "cpu.wait", mine.cpu_wait
    yield "cpu.allowed", mine.cpus_allowed
    yield "threads", mine.threads
    yield "switches.voluntary", rate(mine.switches_voluntary, before.switches_voluntary)
    yield "switches.involuntary", rate(mine.switches_involuntary, before.switches_involuntary)
    yield "faults.minor", rate(mine.faults_minor, before.faults_minor)
    yield "faults.major", rate(mine.faults_major, before.faults_major)
    yield "disk.read", rate(mine.disk_read, before.disk_read)
    yield "children", float(len(now.children.pids)) if now.state != "gone" else None
    yield "children.rss", now.children.rss
    yield "children.cpu", now.children.cpu
    yield "machine.cpus", now.machine.cpus
    yield "machine.cpu", now.machine.cpu
    yield "machine.others", now.machine.others
    yield "machine.steal", now.machine.steal
    yield "machine.load", now.machine.load
    yield "machine.memory", now.machine.memory_available
    yield "machine.swap", now.machine.swap_used
    yield "pressure.cpu", now.pressure.cpu
    yield "pressure.memory", now.pressure.memory
    yield "pressure.io", now.pressure.io
    group, earlier = now.cgroup, then.cgroup
    yield "cgroup.cpu.quota", group.cpu_quota
    periods = rate(group.periods, earlier.periods)
    throttled = rate(group.throttled_periods, earlier.throttled_periods)
    # Periods only pass while the group has something to run: none is no throttling.
    share = throttled / periods if throttled and periods else 0.0
    yield "cgroup.cpu.throttled", min(100.0, 100.0 * share) if throttled is not None else None
    yield "cgroup.cpu.waited", rate(group.throttled_seconds, earlier.throttled_seconds)
    yield "cgroup.memory", group.memory
    yield "cgroup.memory.working", group.memory_working
    yield "cgroup.memory.limit", group.memory_limit
    yield "cgroup.memory.hits", rate(group.limit_hits, earlier.limit_hits)
    yield "cgroup.memory.refaults", rate(group.refaults, earlier.refaults)


def _device(device: GpuDevice) -> _Values:
    at = f"gpu.{device.label}"
    yield f"{at}.memory", device.memory_used
    yield f"{at}.memory.total", device.memory_total
    yield f"{at}.memory.own", device.memory_own
    yield f"{at}.memory.others", device.memory_others
    yield f"{at}.utilisation", device.utilisation
    yield f"{at}.utilisation.own", device.utilisation_own
    yield f"{at}.utilisation.others", device.utilisation_others
    yield f"{at}.clock", device.clock
    yield f"{at}.clock.max", device.clock_max
    yield f"{at}.throttle", device.throttle
    yield f"{at}.temperature", device.temperature
    yield f"{at}.power", device.power
    yield f"{at}.power.limit", device.power_limit
    yield f"{at}.pcie.rx", device.pcie_rx
    yield f"{at}.pcie.tx", device.pcie_tx
    yield f"{at}.lost", float(device.lost)
