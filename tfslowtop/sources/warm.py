"""A process that imports TensorFlow while the user reads the list, to become the next scenario's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..catalogue.kernel import SOCKET_VARIABLE, TOKEN_VARIABLE

#: A scenario has a lower priority than the screen that shows it. A user's own script is never re-niced.
NICE = 10

#: TensorFlow prints pages of notes to standard error, which are of no use here.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONUNBUFFERED": "1"}

#: What is read from the environment only after the import of TensorFlow.
_READ_LATE = frozenset({"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", SOCKET_VARIABLE, TOKEN_VARIABLE})
#: Bytes of memory that have to be free: the import takes about a quarter of it.
_LEAST_FREE = 2e9

# The child uses this very package, installed or in a checkout, and nothing by accident: neither what lies in
# the working directory nor, unlike with PYTHONPATH, site-packages before the standard library.
_ROOT = str(Path(__file__).resolve().parents[2])
_BOOTSTRAP = (
    "import sys; del sys.path[0]; sys.path.append(sys.argv.pop(1)); "
    "from tfslowtop.catalogue.kernel import main; main()"
)


def start_kernel(
    arguments: Sequence[str], environment: Mapping[str, str], *, nice: int = NICE, stdin: int | None = None
) -> subprocess.Popen[bytes]:
    """Start `python -m tfslowtop.catalogue.kernel`; raise OSError where that fails."""
    process = subprocess.Popen(
        [sys.executable, "-c", _BOOTSTRAP, _ROOT, *arguments],
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,  # the watcher handles Ctrl-C and the terminal's hang-up
    )
    if nice:
        try:
            os.setpriority(os.PRIO_PROCESS, process.pid, nice)
        except OSError:
            pass  # then it runs at normal priority
    return process


class WarmKernel:
    """Waits on its standard input for a scenario, and ends with the end of that input, whatever ends us."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless memory is short."""
        if _free_memory() < _LEAST_FREE:
            return
        try:
            self._process = start_kernel(["--warm"], {**os.environ, **QUIET}, stdin=subprocess.PIPE)
        except OSError:
            pass  # a scenario starts without it, too

    def take(
        self, path: Path, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes] | None:
        """Return the process, which then runs the scenario with these arguments; None if it cannot.

        It is used up or ended: it must not disturb the scenario that runs.
        """
        process, self._process = self._process, None
        if process is None:
            return None
        changed = {name: value for name, value in environment.items() if os.environ.get(name) != value}
        early = changed.keys() - QUIET.keys() - _READ_LATE
        pipe = process.stdin
        try:
            if early or process.poll() is not None or pipe is None or not _imports_tensorflow(path):
                raise OSError
            order = {"arguments": list(arguments), "environment": changed}
            pipe.write(json.dumps(order).encode() + b"\n")
            pipe.close()
            return process
        except OSError:
            _end(process)
            return None

    def stop(self) -> None:
        if self._process is not None:
            _end(self._process)
            self._process = None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                pass  # what was buffered for it has nowhere to go


def _imports_tensorflow(path: Path) -> bool:
    return "import tensorflow" in path.read_text(encoding="utf-8", errors="replace")


def _free_memory() -> float:
    """Return the bytes that the machine has left; infinity where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return float("inf")
