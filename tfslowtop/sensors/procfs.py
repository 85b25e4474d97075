"""What Linux reports about one process under /proc/<pid>.

psutil takes more than twice as long for half of these figures (143 µs against 59 µs here, caches warm), and
ten reads a second should go unnoticed. Elsewhere `psutil_process` is used.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

#: The possible values of `state`; the gauge `state` is the position in this tuple.
STATES = ("running", "sleeping", "stopped", "zombie", "gone")

# The kernel's letters in our words. D (waiting for a disk) and I (idle) cannot run either.
_STATES = {"R": "running", "T": "stopped", "t": "stopped", "Z": "zombie", "X": "gone", "x": "gone"}


@dataclass(frozen=True, slots=True)
class ProcessReading:
    """One process at one moment. Times are seconds, sizes bytes, everything else counts since its start."""

    #: One of `STATES`.
    state: str = "gone"
    #: When the process was started: a pid with another start is another process.
    born: float = 0.0
    cpu_seconds: float | None = None
    #: CPU time of the process and of all children that it has waited for.
    cpu_family: float | None = None
    #: Percent of one core, since the reading before.
    cpu: float | None = None
    #: Percent of the time in which its threads wanted to run and had no CPU; all of them, because
    #: TensorFlow's main thread sleeps while others compute.
    cpu_wait: float | None = None
    cpus_allowed: float | None = None
    rss: float | None = None
    #: What would be freed if it ended; not read every time.
    uss: float | None = None
    swap: float | None = None
    threads: float | None = None
    #: Of the main thread; the kernel keeps them per thread.
    switches_voluntary: float | None = None
    switches_involuntary: float | None = None
    faults_minor: float | None = None
    faults_major: float | None = None
    #: Bytes that really came from a disk, not from the cache.
    disk_read: float | None = None


def slurp(path: str, whole: bool = False) -> bytes | None:
    """Return the contents of a small kernel file, or None: missing, forbidden, or the process has just ended.

    `whole` is for lists: the kernel returns those a page at a time, however much is requested.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # One read for the rest: the content is generated on reading, and a second read could be of another
        # moment.
        found = data = os.read(fd, 1 << 16)
        while whole and data:
            data = os.read(fd, 1 << 16)
            found += data
        return found
    except OSError:
        return None
    finally:
        os.close(fd)


def number_after(name: bytes, data: bytes | None) -> float | None:
    """Return the number in the line `name 123` or `name 123 kB`; a size in bytes.

    Picking the two or three lines that are needed is several times cheaper than parsing all fifty.
    """
    start = (b"\n" + data).find(b"\n" + name) if data else -1
    if data is None or start < 0:
        return None
    words = data[start + len(name) : start + len(name) + 40].partition(b"\n")[0].split()
    try:
        return float(words[0]) * (1024 if words[1:] == [b"kB"] else 1)
    except (IndexError, ValueError):
        return None


class LinuxProcess:
    """Reads one pid."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._pid = pid
        self._at = f"{proc}/{pid}/"
        self._tick = float(os.sysconf("SC_CLK_TCK"))
        self._page = float(os.sysconf("SC_PAGE_SIZE"))
        # The kernel's own number for "the CPU clock of that process" (clock_getcpuclockid(3)): exact to the
        # nanosecond, where /proc/<pid>/stat counts in steps of 10 ms and is useless over 100 ms.
        self._clock: int | None = (~pid << 3) | 2

    def counters(self, brief: bool = False) -> ProcessReading | None:
        """Read it; None if there is no such process (any more). `brief`: only what a single file contains."""
        stat = slurp(self._at + "stat")
        if not stat:
            return None
        # The name in parentheses may itself contain spaces and parentheses.
        words = stat.rpartition(b")")[2].split()
        try:
            ticks = [float(word) / self._tick for word in words[11:15]]
            state, born = _STATES.get(words[0].decode(), "sleeping"), float(words[19])
            minor, major, threads = float(words[7]), float(words[9]), float(words[17])
            rss = float(words[21]) * self._page
        except (IndexError, ValueError):
            return None
        if brief:
            return ProcessReading(state, born, cpu_family=sum(ticks), rss=rss)
        cpu = self._cpu(ticks[0] + ticks[1])
        status = slurp(self._at + "status")
        return ProcessReading(
            state=state,
            born=born,
            cpu_seconds=cpu,
            cpu_family=sum(ticks),
            rss=rss,
            swap=number_after(b"VmSwap:", status),
            threads=threads,
            switches_voluntary=number_after(b"voluntary_ctxt_switches:", status),
            switches_involuntary=number_after(b"nonvoluntary_ctxt_switches:", status),
            faults_minor=minor,
            faults_major=major,
            disk_read=number_after(b"read_bytes:", slurp(self._at + "io")),
        )

    def _cpu(self, by_ticks: float) -> float:
        if self._clock is not None:
            try:
                exact = time.clock_gettime_ns(self._clock) / 1e9
            except OSError:
                self._clock = None
            else:
                # A number that is far off belongs to another process (a /proc of another pid namespace).
                if abs(exact - by_ticks) < 1.0 + 0.1 * by_ticks:
                    return exact
                self._clock = None
        return by_ticks

    def uss(self) -> float | None:
        """Return the memory that would be freed if the process ended. Slow: the kernel walks all its page
        tables."""
        rollup = slurp(self._at + "smaps_rollup")
        names = (b"Private_Clean:", b"Private_Dirty:", b"Private_Hugetlb:")
        parts = [part for name in names if (part := number_after(name, rollup)) is not None]
        return sum(parts) if parts else None

    def waits(self) -> dict[str, float]:
        """Return by thread the seconds so far in which it was ready to run and had no CPU."""
        try:
            threads = os.listdir(self._at + "task")  # noqa: PTH208  (half the cost of iterdir)
        except OSError:
            return {}
        # Time on a CPU, time ready but waiting for one, both in nanoseconds, and a count.
        statistics = ((each, (slurp(f"{self._at}task/{each}/schedstat") or b"").split()) for each in threads)
        return {each: float(words[1]) / 1e9 for each, words in statistics if len(words) > 1}

    def cpus_allowed(self) -> float | None:
        try:
            return float(len(os.sched_getaffinity(self._pid)))
        except (AttributeError, OSError):
            return None


def children_of(pid: int, proc: Path = Path("/proc")) -> tuple[int, ...] | None:
    """Return the pids of all descendants, or None where this kernel does not list them
    (CONFIG_PROC_CHILDREN).

    The list belongs to the thread that created the child. Reading it for each thread of a few processes is
    still cheaper than reading each process of a large machine, and children that are found late look like
    other processes.
    """
    found: list[int] = []
    todo = [pid]
    while todo:
        task = f"{proc}/{todo.pop()}/task"
        try:
            threads = os.listdir(task)  # noqa: PTH208  (half the cost of iterdir)
        except OSError:
            # It has ended meanwhile, and its children have another parent by now.
            continue
        lists = [slurp(f"{task}/{thread}/children", whole=True) for thread in threads]
        if lists and all(each is None for each in lists) and os.path.isdir(task):  # noqa: PTH112
            return None
        below = [int(word) for each in lists if each for word in each.split()]
        found += below
        todo += below
    return tuple(found)
