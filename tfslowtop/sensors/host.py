"""The host: what the target uses of the machine, and what the machine and its limits do to it.

Everything is read from outside the target. Every value may be missing on its own (None): the system does not
report it, we may not read it, or it is not due yet. No read ever raises; a target that has died is `gone`.

To keep reads cheap, each value is read only as often as it is worth: counters of the process at every read;
the machine, its pressure, the children and the waiting of threads once a second; the list of children every 3
s; and unique memory every 5 s. The last three are read even less often where they are slow.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import psutil

from . import procfs, psutil_process
from .cgroup import Cgroup, CgroupReading, stalled
from .pace import Paced
from .procfs import LinuxProcess, ProcessReading, number_after, slurp
from .psutil_process import PsutilProcess

#: Of all cores: beyond this, what we use is taken from the watched program.
_FULL = 0.9

#: None where only psutil is available.
PROC = Path("/proc") if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class ChildrenReading:
    """All descendants of the target together."""

    pids: tuple[int, ...] = ()
    rss: float | None = None
    cpu: float | None = None


@dataclass(frozen=True, slots=True)
class MachineReading:
    """The whole machine, over the last second. CPU in percent of one core: `cpus` × 100 is the maximum."""

    cpus: float | None = None
    cpu: float | None = None
    #: What neither the target nor its children used: other processes.
    others: float | None = None
    #: Taken by other guests of the same physical machine.
    steal: float | None = None
    load: float | None = None
    memory_available: float | None = None
    swap_used: float | None = None


@dataclass(frozen=True, slots=True)
class PressureReading:
    """Percent of the last second in which some task had to wait; of the target's cgroup or of the machine."""

    scope: str = "machine"
    cpu: float | None = None
    memory: float | None = None
    io: float | None = None


@dataclass(frozen=True, slots=True)
class HostReading:
    """All readings at one moment (`at`: time.perf_counter_ns)."""

    at: int
    pid: int
    process: ProcessReading = field(default_factory=ProcessReading)
    children: ChildrenReading = ChildrenReading()
    machine: MachineReading = MachineReading()
    pressure: PressureReading = PressureReading()
    cgroup: CgroupReading = field(default_factory=CgroupReading)

    @property
    def state(self) -> str:
        return self.process.state

    @property
    def full(self) -> bool:
        """Whether no core was idle during the last second."""
        machine = self.machine
        return machine.cpu is not None and machine.cpu >= _FULL * 100 * (machine.cpus or 1)


class _Process(Protocol):
    def counters(self, brief: bool = False) -> ProcessReading | None: ...
    def uss(self) -> float | None: ...
    def waits(self) -> dict[str, float]: ...
    def cpus_allowed(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class _Waits:
    """How long each thread has waited for a CPU so far, and how much all of them have used, at a moment."""

    at: float
    used: float
    threads: dict[str, float]

    def share(self, last: _Waits) -> float | None:
        """Return the percent of the time in which they wanted to run since then; of all time if that was
        longer."""
        elapsed = self.at - last.at
        if not self.threads or elapsed <= 0:
            return None
        waited = sum(each - last.threads.get(thread, 0.0) for thread, each in self.threads.items())
        return _percent(waited, max(elapsed, waited + self.used - last.used))


@dataclass(frozen=True, slots=True)
class _Usage:
    """CPU seconds so far, at a moment; two of them give a percentage."""

    at: float
    busy: float
    steal: float
    family: float
    children: float


def _reader(pid: int, proc: Path | None) -> _Process:
    return LinuxProcess(pid, proc) if proc is not None else PsutilProcess(pid)


class HostSensor:
    """Reads one pid. Without `proc` (not on Linux) only psutil is used, and less is known."""

    def __init__(self, pid: int, proc: Path | None = PROC) -> None:
        self.pid = pid
        self._proc = proc
        self._process = _reader(pid, proc)
        self._born: float | None = None
        self._last_cpu: tuple[float, float] | None = None
        self._usage: _Usage | None = None
        self._uss: float | None = None
        self._cpus_allowed: float | None = None
        self._cpu_wait: float | None = None
        self._waits: _Waits | None = None
        self._family: dict[int, _Process] = {}
        self._cgroup = Cgroup(pid, proc) if proc is not None else None
        self._children = ChildrenReading()
        self._machine = MachineReading()
        self._pressure = PressureReading()
        self._stalled: tuple[float, str | None, tuple[float | None, ...]] = (0.0, None, (None,) * 3)
        self._each_second = Paced(1.0, 0.005)
        self._list_children = Paced(3.0, 0.001)
        self._all_threads = Paced(1.0, 0.002)
        self._unique = Paced(5.0, 0.002)

    def read(self) -> HostReading:
        at = time.perf_counter_ns()
        now = at / 1e9
        counters = self._process.counters()
        if counters is not None and self._born not in (None, counters.born):
            # The pid has been reused by another process.
            counters = None
        if counters is None or counters.state == "gone":
            return HostReading(at, self.pid)
        self._born = counters.born
        if self._each_second.due(now):
            self._once_a_second(now, counters)
        if self._unique.due(now):
            before = time.perf_counter()
            self._uss = self._process.uss()
            # Wall time: for that long the target could not change its memory map.
            self._unique.done(now, time.perf_counter() - before)
        return HostReading(
            at,
            self.pid,
            self._own(now, counters),
            self._children,
            self._machine,
            self._pressure,
            self._cgroup.read() if self._cgroup else CgroupReading(),
        )

    def _own(self, now: float, counters: ProcessReading) -> ProcessReading:
        """Add what the kernel does not count, or what is not read every time."""
        percent = None
        if counters.cpu_seconds is not None:
            if self._last_cpu is not None:
                percent = _percent(counters.cpu_seconds - self._last_cpu[1], now - self._last_cpu[0])
            self._last_cpu = (now, counters.cpu_seconds)
        return replace(
            counters, cpu=percent, cpu_wait=self._cpu_wait, uss=self._uss, cpus_allowed=self._cpus_allowed
        )

    def _once_a_second(self, now: float, counters: ProcessReading) -> None:
        # CPU time, not wall time: on a busy machine, where it matters most, we must not read less often.
        begun = time.thread_time()
        if self._list_children.due(now):
            before = time.thread_time()
            pids = self._descendants()
            self._family = {pid: self._family.get(pid) or _reader(pid, self._proc) for pid in pids}
            self._list_children.done(now, time.thread_time() - before)
        both = ((pid, reader.counters(brief=True)) for pid, reader in self._family.items())
        living = {pid: found for pid, found in both if found is not None}
        self._cpus_allowed = self._process.cpus_allowed()
        if self._all_threads.due(now):
            before, last = time.thread_time(), self._waits
            self._waits = _Waits(now, counters.cpu_seconds or 0.0, self._process.waits())
            self._cpu_wait = self._waits.share(last) if last is not None else None
            self._all_threads.done(now, time.thread_time() - before)
        self._use_of_cpu(now, counters, living)
        if self._cgroup:
            self._cgroup.look(now)
        if self._proc is not None:
            self._pressure = self._stalls(now, self._proc)
        self._each_second.done(now, time.thread_time() - begun)

    def _stalls(self, now: float, proc: Path) -> PressureReading:
        directory = self._cgroup.pressure if self._cgroup else None
        totals = tuple(stalled(name, directory, proc) for name in ("cpu", "memory", "io"))
        (then, where, earlier), self._stalled = self._stalled, (now, directory, totals)
        scope = "cgroup" if directory else "machine"
        if where != directory:
            return PressureReading(scope)
        shares = (
            _percent(new - old, now - then) if new is not None and old is not None else None
            for new, old in zip(totals, earlier, strict=True)
        )
        return PressureReading(scope, *shares)

    def _descendants(self) -> tuple[int, ...]:
        pids = procfs.children_of(self.pid, self._proc) if self._proc is not None else None
        return pids if pids is not None else psutil_process.children_of(self.pid) or ()

    def _use_of_cpu(self, now: float, counters: ProcessReading, living: dict[int, ProcessReading]) -> None:
        """Return what the family and the others used since the last time."""
        times = psutil.cpu_times()
        # Guest time is already part of user time.
        idle = times.idle + getattr(times, "iowait", 0.0)
        steal = getattr(times, "steal", 0.0)
        guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        # A child that has been waited for moves into its parent's sum, so the family's sum never jumps.
        children = sum(each.cpu_family or 0.0 for each in living.values())
        usage = _Usage(
            at=now,
            busy=sum(times) - idle - steal - guest,
            steal=steal,
            family=(counters.cpu_family or 0.0) + children,
            children=children,
        )
        last, self._usage = self._usage, usage
        busy = others = stolen = by_children = None
        if last is not None:
            elapsed = now - last.at
            busy = _percent(usage.busy - last.busy, elapsed)
            stolen = _percent(usage.steal - last.steal, elapsed)
            others = _percent((usage.busy - last.busy) - (usage.family - last.family), elapsed)
            by_children = _percent(usage.children - last.children, elapsed)
        rss = [each.rss for each in living.values() if each.rss is not None]
        # A child that has ended but was not waited for still counts its CPU time, but is not shown.
        pids = tuple(pid for pid, each in living.items() if each.state != "zombie")
        self._children = ChildrenReading(pids, sum(rss, 0.0), by_children)
        self._machine = MachineReading(
            cpus=float(psutil.cpu_count() or 1),
            cpu=busy,
            others=others,
            steal=stolen,
            load=psutil.getloadavg()[0],
            **_memory(self._proc),
        )


def _memory(proc: Path | None) -> dict[str, float]:
    if proc is not None:
        # psutil reads /proc/vmstat as well for this, which takes three times as long.
        names = (b"MemAvailable:", b"SwapTotal:", b"SwapFree:")
        meminfo = slurp(f"{proc}/meminfo")
        available, swap, free = (number_after(name, meminfo) or 0.0 for name in names)
        return {"memory_available": available, "swap_used": swap - free} if meminfo else {}
    try:
        return {
            "memory_available": float(psutil.virtual_memory().available),
            "swap_used": float(psutil.swap_memory().used),
        }
    except (OSError, RuntimeError, psutil.Error):
        return {}


def _percent(part: float, whole: float) -> float | None:
    """Subtract, but never below zero: the figures come from two clocks of the kernel, a tick apart."""
    return max(0.0, 100.0 * part / whole) if whole > 0 else None
