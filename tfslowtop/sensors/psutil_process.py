"""The same figures through psutil alone: for macOS, and for what needs a walk over all processes."""

from __future__ import annotations

import psutil

from .procfs import ProcessReading

_STATES = {
    psutil.STATUS_RUNNING: "running",
    psutil.STATUS_STOPPED: "stopped",
    psutil.STATUS_TRACING_STOP: "stopped",
    psutil.STATUS_ZOMBIE: "zombie",
    psutil.STATUS_DEAD: "gone",
}


class PsutilProcess:
    """Reads one pid, on any system; what the system does not report stays None."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._process: psutil.Process | None = None
        self._born = 0.0

    def counters(self, brief: bool = False) -> ProcessReading | None:
        try:
            if self._process is None:
                self._process = psutil.Process(self._pid)
            found = self._read(self._process)
            self._born = found.born
            return found
        except psutil.ZombieProcess:
            return ProcessReading("zombie", self._born)
        except (psutil.NoSuchProcess, ProcessLookupError):
            return None
        except (psutil.Error, OSError):
            # Another user's process: that it exists is all we may know.
            return ProcessReading("running", self._born)

    @staticmethod
    def _read(process: psutil.Process) -> ProcessReading:
        if not process.is_running():
            raise psutil.NoSuchProcess(process.pid)
        with process.oneshot():
            state = _STATES.get(process.status(), "sleeping")
            born = process.create_time()
            times = process.cpu_times()
            memory = process.memory_info()
            switches = process.num_ctx_switches()
            own = times.user + times.system
            waited = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            return ProcessReading(
                state=state,
                born=born,
                cpu_seconds=own,
                cpu_family=own + waited,
                rss=float(memory.rss),
                threads=float(process.num_threads()),
                switches_voluntary=float(switches.voluntary),
                switches_involuntary=float(switches.involuntary),
                # macOS only: `pfaults` counts all faults, `pageins` those that had to wait for a disk.
                faults_minor=_number(getattr(memory, "pfaults", None)),
                faults_major=_number(getattr(memory, "pageins", None)),
            )

    def uss(self) -> float | None:
        try:
            return _number(getattr(psutil.Process(self._pid).memory_full_info(), "uss", None))
        except (psutil.Error, OSError):
            return None

    def waits(self) -> dict[str, float]:
        return {}

    def cpus_allowed(self) -> float | None:
        return None


def children_of(pid: int) -> tuple[int, ...] | None:
    """Return the pids of all descendants. Walks over all processes, so not for every reading."""
    try:
        return tuple(child.pid for child in psutil.Process(pid).children(recursive=True))
    except (psutil.Error, OSError):
        return None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
