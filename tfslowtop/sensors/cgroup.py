"""What the target's control groups allow, and how often they held it back. Versions 1 and 2, Linux only.

A limit may sit on the process's own group or on any group above it (a pod around a container), and the kernel
counts throttling where the limit sits, so all levels that this mount shows are read.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from .pace import Paced
from .procfs import number_after, slurp

# Version 1 expresses "no limit" as a number near 2**63, rounded down to a page.
_UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class CgroupReading:
    """Counts are since the group was created. None: no such limit, or unknown."""

    #: The tightest CPU quota, in cores (0.5 is half a core).
    cpu_quota: float | None = None
    #: Enforcement periods so far, those in which the group ran out of quota, and the seconds it then waited,
    #: added up over CPUs.
    periods: float | None = None
    throttled_periods: float | None = None
    throttled_seconds: float | None = None
    #: The limit that is closest to being reached, how much of it is used, and how much without cache that the
    #: kernel would simply drop: reading a large data set fills a limit harmlessly.
    memory_limit: float | None = None
    memory: float | None = None
    memory_working: float | None = None
    #: How often an allocation hit the limit.
    limit_hits: float | None = None
    #: Pages that were dropped or swapped out to make room, and then needed again.
    refaults: float | None = None


@dataclass(frozen=True, slots=True)
class _Memory:
    limit: float | None = None
    used: float | None = None
    working: float | None = None
    hits: float | None = None
    refaults: float | None = None


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the memory controller's files."""

    limits: tuple[str, ...]
    used: str
    #: The prefix of names in memory.stat that include the groups below.
    whole: bytes
    events: str


_V1 = _Names(("memory.limit_in_bytes",), "memory.usage_in_bytes", b"total_", "memory.failcnt")
# memory.high does not kill but slows down, which is what matters here, so the lower of the two counts.
_V2 = _Names(("memory.max", "memory.high"), "memory.current", b"", "memory.events")


@dataclass(frozen=True, slots=True)
class Mount:
    version: int
    controllers: frozenset[str]
    root: str
    point: str


def parse_mounts(mountinfo: str) -> tuple[Mount, ...]:
    """The cgroup mounts in /proc/self/mountinfo: `… root point options… - type source options`."""
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        before, after = left.split(), right.split()
        if len(before) < 5 or len(after) < 3 or after[0] not in ("cgroup", "cgroup2"):
            continue
        version = 2 if after[0] == "cgroup2" else 1
        names = frozenset() if version == 2 else frozenset(after[2].split(","))
        found.append(Mount(version, names, _unescape(before[3]), _unescape(before[4])))
    return tuple(found)


def parse_membership(text: str) -> dict[str, str]:
    """/proc/<pid>/cgroup: controller to path; the key "" is version 2."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            found.update(dict.fromkeys(parts[1].split(","), parts[2]))
    return found


def levels(mount: Mount, path: str) -> tuple[str, ...]:
    """Return the directories of a group and of those above it, innermost first, as far as the mount shows
    them."""
    below = os.path.relpath(path, mount.root) if path.startswith(mount.root) else path.lstrip("/")
    # A path that climbs out (`/../..`) is a group outside our cgroup namespace: only the mount's top is ours.
    parts = [] if below == "." or ".." in below.split("/") else below.split("/")
    found = [os.path.join(mount.point, *parts[:n]) for n in range(len(parts), -1, -1)]  # noqa: PTH118
    return tuple(each for each in found if Path(each).is_dir())


class Cgroup:
    """The groups of one pid. `look` finds limits and memory (once a second), `read` adds throttling."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._pid, self._proc = pid, proc
        self._mounts: tuple[Mount, ...] | None = None
        self._search = Paced(0.9, 0.002)
        self._where = ""
        self._quotas: dict[str, float] = {}
        self._limited: tuple[str, _Names] | None = None
        self._memory = _Memory()
        #: The directory with this group's own pressure files, if it has any.
        self.pressure: str | None = None

    def look(self, now: float) -> None:
        """Look again: a process can be moved, and a limit can be changed, while it runs."""
        where = _text(f"{self._proc}/{self._pid}/cgroup")
        if where != self._where or self._search.due(now):
            self._find(where)
            self._search.done(now, time.perf_counter() - now)
        self._memory = _memory(*self._limited) if self._limited else _Memory()

    def _find(self, where: str) -> None:
        if self._mounts is None:
            self._mounts = parse_mounts(_text(f"{self._proc}/self/mountinfo"))
        self._where = where
        membership = parse_membership(where)
        self._quotas = {}
        for each in self._levels("cpu", membership)[1]:
            quota = _quota(each)
            if quota is not None:
                self._quotas[each] = quota
        version, directories = self._levels("memory", membership)
        names = _V1 if version == 1 else _V2
        nearest = _nearest_limit(directories, names)
        self._limited = (nearest, names) if nearest else None
        unified = [mount for mount in self._mounts if mount.version == 2]
        group = levels(unified[0], membership[""])[:1] if unified and "" in membership else ()
        # The true root has no cgroup.type; its pressure is the machine's.
        self.pressure = next((each for each in group if Path(each, "cgroup.type").exists()), None)

    def _levels(self, controller: str, membership: dict[str, str]) -> tuple[int, tuple[str, ...]]:
        for mount in self._mounts or ():
            # A hybrid system mounts version 2 as well, but each controller is in one of them only.
            if mount.version == 1 and controller in mount.controllers and controller in membership:
                return 1, levels(mount, membership[controller])
        for mount in self._mounts or ():
            if mount.version == 2 and "" in membership:
                return 2, levels(mount, membership[""])
        return 0, ()

    def read(self) -> CgroupReading:
        memory = self._memory
        # Levels are counted separately; the one that holds the process back most is the one that matters.
        stats = [slurp(f"{each}/cpu.stat") for each in self._quotas]
        worst = max(stats, key=lambda each: number_after(b"nr_throttled ", each) or 0.0, default=None)
        waited, unit = number_after(b"throttled_usec ", worst), 1e6
        if waited is None:
            waited, unit = number_after(b"throttled_time ", worst), 1e9
        return CgroupReading(
            cpu_quota=min(self._quotas.values(), default=None),
            periods=number_after(b"nr_periods ", worst),
            throttled_periods=number_after(b"nr_throttled ", worst),
            throttled_seconds=waited / unit if waited is not None else None,
            memory_limit=memory.limit,
            memory=memory.used,
            memory_working=memory.working,
            limit_hits=memory.hits,
            refaults=memory.refaults,
        )


def stalled(name: str, directory: str | None, proc: Path) -> float | None:
    """Return the seconds so far in which some task of the group, or of the machine, waited for `name` (PSI).

    The kernel's own averages cover 10 s and more, and half of that passes before they show anything.
    """
    data = slurp(f"{directory}/{name}.pressure" if directory else f"{proc}/pressure/{name}")
    for word in (data or b"").partition(b"\n")[0].split():
        if word.startswith(b"total="):
            total = _number(word[6:])
            return total / 1e6 if total is not None else None
    return None


def _quota(directory: str) -> float | None:
    """Return the quota in cores; None where there is none."""
    both = (slurp(f"{directory}/cpu.max") or b"").split()
    if not both:
        both = [
            slurp(f"{directory}/cpu.cfs_quota_us") or b"-1",
            slurp(f"{directory}/cpu.cfs_period_us") or b"",
        ]
    quota, period = _number(both[0]), _number(both[1] if len(both) > 1 else b"")
    return quota / period if quota and period and quota > 0 else None


def _nearest_limit(directories: tuple[str, ...], names: _Names) -> str | None:
    nearest, room = None, float("inf")
    for each in directories:
        limit, used = _limit(each, names), _number(slurp(f"{each}/{names.used}"))
        if limit is not None and used is not None and limit - used < room:
            nearest, room = each, limit - used
    return nearest


def _limit(directory: str, names: _Names) -> float | None:
    found = [_number(slurp(f"{directory}/{name}")) for name in names.limits]
    return min((each for each in found if each is not None and each < _UNLIMITED), default=None)


def _memory(directory: str, names: _Names) -> _Memory:
    used = _number(slurp(f"{directory}/{names.used}"))
    stat = slurp(f"{directory}/memory.stat")
    droppable = number_after(names.whole + b"inactive_file ", stat)
    working = max(0.0, used - droppable) if used is not None and droppable is not None else None
    kinds = (b"workingset_refault_file ", b"workingset_refault_anon ", b"workingset_refault ")
    back = [count for kind in kinds if (count := number_after(names.whole + kind, stat)) is not None]
    events = slurp(f"{directory}/{names.events}")
    hits = [hit for name in (b"max ", b"high ", b"") if (hit := number_after(name, events)) is not None]
    return _Memory(
        _limit(directory, names), used, working, sum(hits) if hits else None, sum(back) if back else None
    )


def _number(data: bytes | None) -> float | None:
    try:
        return float(data) if data else None
    except ValueError:
        # "max": there is no limit.
        return None


def _text(path: str) -> str:
    return (slurp(path, whole=True) or b"").decode(errors="replace")


def _unescape(path: str) -> str:
    """mountinfo writes a space as \\040."""
    return path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
