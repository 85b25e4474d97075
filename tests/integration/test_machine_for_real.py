"""What the machine does to a real script, seen by the real sensors: a stand-in for the driver's library, and
control groups of this kernel. benchmarks/bench_trouble.py measures how soon it is reported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nvml_stand_in as stand_in
import psutil
import pytest
from paths import HELPERS, PROGRAMS, ROOT
from test_sensors_cgroup import group

PACED = str(PROGRAMS / "paced.py")
GIB = 2**30
HEAT = 0x40


class Watched:
    """A script, watched in a child process."""

    def __init__(self, *argv: str, env: dict[str, str] | None = None) -> None:
        self.now: dict[str, Any] = {}
        self.process = subprocess.Popen(
            [sys.executable, str(HELPERS / "watched.py"), *argv],
            env={**(env or os.environ), "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.now = {**self.now, **json.loads(line)}

    @property
    def findings(self) -> dict[str, tuple[str, bool]]:
        return {cause: tuple(both) for cause, both in self.now.get("findings", {}).items()}

    def until(self, wanted: Callable[[Watched], object], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not wanted(self):
            assert time.monotonic() < end and self.process.poll() is None, self.now
            time.sleep(0.05)

    def end(self) -> dict[str, Any]:
        """What `--json` would write."""
        assert self.process.wait(60) == 0
        self._reader.join(60)
        report: dict[str, Any] = self.now["report"]
        return report


@contextmanager
def watched(*argv: str, env: dict[str, str] | None = None) -> Iterator[Watched]:
    found = Watched(*argv, env=env)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            # The script is the watcher's child, not ours, and outlives it.
            for each in psutil.Process(found.process.pid).children(recursive=True):
                each.kill()
        found.process.kill()
        found.process.wait()


class Pace:
    """The file that says what a step of `paced.py` takes."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self(text)

    def __call__(self, text: str) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if stand_in.COMPILER is None or sys.platform != "linux":
        pytest.skip("needs a C compiler (cc) on Linux to build the stand-in for the NVIDIA driver's library")
    return stand_in.build(tmp_path_factory.mktemp("nvml"))


def calm(n: int, pid: int) -> dict[str, object]:
    """A GPU on which the script works alone."""
    values = {
        "memory.used": 70 * GIB, "clock": 1980, "throttle": 0, "temperature": 71, "utilisation": 97,
        "process.0": f"{pid} {70 * GIB}", "process.1": None, "use.0": f"{pid} 97", "use.1": None,
    }  # fmt: skip
    return {f"gpu.{n}.{name}": value for name, value in values.items()}


def lasts(cause: str) -> Callable[[Watched], bool]:
    return lambda run: bool(run.findings.get(cause, ("", False))[1])


@pytest.mark.tensorflow
def test_gpus_in_the_middle_of_a_run(library, tmp_path):
    """One throttles, the other gets a neighbour who fills its memory; they fall off, the driver reloads."""
    machine = stand_in.Script(tmp_path / "machine")
    pace = Pace(tmp_path / "pace", "0.020")
    with watched(PACED, str(pace.path), "1,0", env=stand_in.environment(library, machine)) as run:
        run.until(lambda r: r.now.get("pid"))
        pid = run.now["pid"]
        machine.put({**calm(0, pid), **calm(1, pid)})
        run.until(lambda r: r.now["steps"] >= 50)
        # The script has set CUDA_VISIBLE_DEVICES itself, after it was started.
        run.until(lambda r: r.now["gpus"] == {"0": [1, True], "1": [0, True]})
        time.sleep(3)
        assert not [cause for cause in run.findings if cause.startswith("gpu")]

        machine.put({"gpu.0.clock": 1200, "gpu.0.throttle": HEAT, "gpu.0.temperature": 91})
        machine.put({"gpu.1.use.0": f"{pid} 37", "gpu.1.use.1": "1 60", "gpu.1.process.1": f"1 {30 * GIB}"})
        machine.put({"gpu.1.process.0": f"{pid} {49 * GIB}", "gpu.1.memory.used": 79 * GIB})
        pace("0.040")
        causes = {"gpu-throttled", "gpu-contention", "gpu-memory-full"}
        run.until(lambda r: causes <= set(r.findings))
        said = [run.findings[cause][0] for cause in causes]
        steps = r"([\d.]+) to ([\d.]+) ms at \d\d:\d\d"
        assert all(20 <= float(m[1]) < float(m[2]) for text in said for m in [re.search(steps, text)] if m)
        whens = {re.sub(steps, "…", text) for text in said}
        assert whens == {
            "Steps went from … when GPU 0's clock fell from 1,980 to 1,200 MHz (heat, 91 °C).",
            "Steps went from … when other processes went from 0 to 60 % of GPU 1's time.",
            "Steps went from … when GPU 1's memory filled up "
            "(79.0 of 80.0 GiB, 30.0 GiB of it used by other processes).",
        }
        machine.put({**calm(0, pid), **calm(1, pid)})
        pace("0.020")
        run.until(lambda r: not any(lasts(cause)(r) for cause in causes))

        machine.put({"gpu.0.all": stand_in.LOST})
        run.until(lambda r: r.now["lost"] == ["gpu.0.lost"])
        machine.put({"init": stand_in.NOT_LOADED, "generation": 2})
        run.until(lambda r: "kernel module is not" in r.now["no_gpu"])
        machine.put({"init": 0, "gpu.0.all": None})
        run.until(lambda r: not r.now["no_gpu"] and not r.now["lost"] and len(r.now["gpus"]) == 2)
        pace.path.unlink()
        report = run.end()
    assert report["target"]["exit_code"] == 0 and not report["notes"]
    # Nothing is said against the code but that it sleeps; whether neighbours were busy, a test cannot know.
    assert {f["cause"] for f in report["findings"]} <= {*causes, "cpu-contention", "input-bound"}


def cold_file(path: Path, size: int) -> str:
    """One that is on the disk and not in anybody's cache."""
    with path.open("wb") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return str(path)


@contextmanager
def neighbours(pid: int) -> Iterator[None]:
    """Three that spin on the one core that is left to `pid`."""
    cores = os.sched_getaffinity(pid)
    core = {min(cores)}
    threads = [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]
    spin = [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {core})\nwhile True: sum(range(1000))"]
    spinning = [subprocess.Popen(spin) for _ in range(3)]
    try:
        for each in threads:
            os.sched_setaffinity(each, core)
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()
        for each in threads:
            os.sched_setaffinity(each, cores)


@pytest.mark.tensorflow
def test_the_host_in_the_middle_of_a_run(tmp_path):
    """Busy neighbours, then a quota, then a memory limit. Whether there are none but ours, a test cannot
    know."""
    pace = Pace(tmp_path / "pace", "0.010 busy")
    with (
        group("cpu", cfs_period_us=100_000) as quota,
        group("memory") as limit,
        watched(PACED, str(pace.path)) as run,
    ):
        run.until(lambda r: r.now.get("steps", 0) >= 50)
        pid = run.now["pid"]
        for each in (quota, limit):
            (each / "cgroup.procs").write_text(str(pid))
        with neighbours(pid):
            run.until(lasts("cpu-contention"))
        said = run.findings["cpu-contention"][0]
        assert re.search(r"(program|it) waits for a CPU core \d+ % of the time", said), said
        assert not {"cpu-throttled", "memory-pressure"} & set(run.findings)

        (quota / "cpu.cfs_quota_us").write_text("5000")
        run.until(lasts("cpu-throttled"))
        said = run.findings["cpu-throttled"][0]
        assert re.search(r"container began to hit its limit of 0.05 cores in \d+ % of the", said), said
        (quota / "cpu.cfs_quota_us").write_text("-1")
        run.until(lambda r: not lasts("cpu-throttled")(r))

        pace(f"0.005 {cold_file(tmp_path / 'data', 75 << 20)}")
        time.sleep(3)
        assert "memory-pressure" not in run.findings
        (limit / "memory.limit_in_bytes").write_text(str(40 << 20))
        run.until(lasts("memory-pressure"))
        said = run.findings["memory-pressure"][0]
        # A step may take so long then that there are too few of them to compare.
        assert re.search(r"[Mm]emory ran short \(4[12][.\d]* MB of the 41.9 MB limit in use", said), said
        assert re.search(r" at \d\d:\d\d", said), said
        (limit / "memory.limit_in_bytes").write_text("-1")
        run.until(lambda r: not lasts("memory-pressure")(r))
        pace.path.unlink()
        assert run.end()["target"]["exit_code"] == 0
