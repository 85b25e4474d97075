"""How soon trouble with the machine is told: seconds from its beginning to the first view that tells it.

    python benchmarks/bench_trouble.py [--rounds 6] [CAUSE ...]

A real script is watched by the real sensors. GPUs are pretended (the tests' stand-in for the driver's
library), the limits are those of control groups (version 1, as root), the neighbours are processes that spin
on the script's core. Between two rounds the trouble is gone until its finding is over. Goal: at most 5 s;
memory takes a while to run short after its limit was set, and that counts here, too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers"), str(ROOT / "tests" / "integration")]

import nvml_stand_in as stand_in  # noqa: E402
from test_machine_for_real import HEAT, PACED, Pace, Watched, calm, cold_file, lasts, neighbours, watched  # noqa: E402
from test_sensors_cgroup import group  # noqa: E402

Begin = Callable[[Watched], Callable[[], None]]
"""Makes trouble for the script; what it returns ends it."""


@contextlib.contextmanager
def gpu(values: dict[str, object], folder: Path) -> Iterator[tuple[dict[str, str], Begin]]:
    machine = stand_in.Script(folder / "machine")

    def begin(run: Watched) -> Callable[[], None]:
        machine.put({name: str(value).format(run.now["pid"]) for name, value in values.items()})
        return lambda: machine.put(calm(0, run.now["pid"]))

    yield stand_in.environment(stand_in.build(folder), machine), begin


@contextlib.contextmanager
def quota(folder: Path) -> Iterator[tuple[dict[str, str], Begin]]:
    ample = "1000000"
    with group("cpu", cfs_period_us=100_000, cfs_quota_us=ample) as limited:
        limit = limited / "cpu.cfs_quota_us"

        def begin(run: Watched) -> Callable[[], None]:
            (limited / "cgroup.procs").write_text(str(run.now["pid"]))
            limit.write_text("5000")
            return lambda: limit.write_text(ample) and None

        yield dict(os.environ), begin


@contextlib.contextmanager
def busy(folder: Path) -> Iterator[tuple[dict[str, str], Begin]]:
    """The script wants the core only while they are there: else a busy machine is trouble all the time."""
    pace = Pace(folder / "pace", "0.020")

    def begin(run: Watched) -> Callable[[], None]:
        stack = contextlib.ExitStack()
        stack.enter_context(neighbours(run.now["pid"]))
        stack.callback(pace, "0.020")
        pace("0.010 busy")
        return stack.close

    yield dict(os.environ), begin


@contextlib.contextmanager
def short(folder: Path) -> Iterator[tuple[dict[str, str], Begin]]:
    """A file that is looked at again and again does not fit into the limit any more."""
    pace, data = Pace(folder / "pace", "0.020"), cold_file(folder / "data", 75 << 20)
    with group("memory") as limited:
        limit = limited / "memory.limit_in_bytes"

        def begin(run: Watched) -> Callable[[], None]:
            (limited / "cgroup.procs").write_text(str(run.now["pid"]))
            pace(f"0.005 {data}")
            limit.write_text(str(40 << 20))
            stack = contextlib.ExitStack()
            stack.callback(limit.write_text, "-1")
            stack.callback(pace, "0.020")
            return stack.close

        yield dict(os.environ), begin


TROUBLES = {
    "gpu-throttled": lambda folder: gpu(
        {"gpu.0.clock": 1200, "gpu.0.throttle": HEAT, "gpu.0.temperature": 91}, folder
    ),
    "gpu-contention": lambda folder: gpu({"gpu.0.use.0": "{} 37", "gpu.0.use.1": "1 60"}, folder),
    "cpu-throttled": quota,
    "cpu-contention": busy,
    "memory-pressure": short,
}


def measure(cause: str, rounds: int, folder: Path) -> list[float]:
    pace = Pace(folder / "pace", "0.010 busy" if cause == "cpu-throttled" else "0.020")
    found: list[float] = []
    with TROUBLES[cause](folder) as (env, begin), watched(PACED, str(pace.path), env=env) as run:
        run.until(lambda r: r.now.get("steps", 0) >= 50)
        begin(run)()
        for _ in range(rounds):
            run.until(lambda r: not lasts(cause)(r))
            time.sleep(3 + random.random())
            begun = time.perf_counter()
            end = begin(run)
            try:
                run.until(lasts(cause), 20)
                found.append(time.perf_counter() - begun)
            finally:
                end()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("causes", nargs="*", default=list(TROUBLES))
    options = parser.parse_args()
    for cause in options.causes:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(cause, options.rounds, Path(folder))
        each = " ".join(f"{seconds:.1f}" for seconds in sorted(found))
        print(f"{cause:16} median {statistics.median(found):.1f} s, longest {max(found):.1f} s   ({each})")


if __name__ == "__main__":
    main()
