"""Watches programs for an hour that are long, large or broken, and fails if anything grows.

In turn: 10^8 samples of one step; 5,000 and 50,000 streams; a million gauges; then random faults until the
time is up (threads, floods of output, closed descriptors, forks, kills, damaged frames). The real watcher
runs in this process: sockets, sensors, analysis, a view twice a second. Every ten seconds it prints its
memory, descriptors, threads, files, how late the worst view was, and the load of the machine.

    python benchmarks/soak.py [--seconds 3600] [--samples 100000000] [--seed 1]
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "helpers")]

from tfslowtop.agent.protocol.events import Ended, Event  # noqa: E402
from tfslowtop.run import POLL_INTERVAL, Lens, Run  # noqa: E402
from tfslowtop.sources.listening_source import Listening  # noqa: E402
from tfslowtop.sources.script import ScriptSource  # noqa: E402
from tfslowtop.sources.session_file import find_sessions  # noqa: E402
from tfslowtop.sources.source import Source  # noqa: E402
from tfslowtop.state.view import View  # noqa: E402

TARGET = str(HERE / "soak_target.py")
MB = 1e6
#: Seconds between two lines, and between two looks at the memory.
LINE, LOOK_AT = 10.0, 0.5
#: Growth that fails: of the watcher over the second half of a phase, and from the first fault to the last.
GROWTH = 25.0
#: Seconds from which a view is late, times the load of each core: others may use the machine.
LATE = 2.0
FAULTS = ("steps", "prints", "closes", "forks", "dies", "fails", "mutants", "gauges", "leave")


def load() -> float:
    """Programs that want to run, per core."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class Forged(Listening):
    """A process that speaks in an agent's place."""

    def __init__(self, *arguments: str) -> None:
        super().__init__()
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        listener = self._listen()
        what, *rest = self._arguments
        command = [sys.executable, TARGET, what, listener.address, listener.token, *rest]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def _tick(self) -> list[Event]:
        if self._process is None or self._process.poll() is None:
            return []
        return [*self._rest_of_it(), Ended(self._process.returncode, "", time.perf_counter_ns())]

    def _deliver_signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def _leave(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        super()._leave()


class Meter:
    """What the watcher takes, as the soak goes on."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process = psutil.Process()
        self._began = self._line_at = self._seen = time.monotonic()
        self.phase, self.target = "", 0
        self.sizes: list[float] = []
        self.targets: list[float] = []
        self.late = self.latest = self.too_late = 0.0
        self.views = 0
        heads = "seconds  phase            samples  streams  watcher MB  target MB  fds  threads  files"
        print(f"{heads}  late s  load", flush=True)

    def begin(self, phase: str) -> None:
        self.phase, self.sizes, self.targets = phase, [], []
        self._seen = time.monotonic()

    def look(self, view: View) -> None:
        now = time.monotonic()
        # One view follows another after the refresh and one rest; what is beyond that is late.
        self.late = max(self.late, now - self._seen - Lens().refresh - POLL_INTERVAL)
        self.latest = max(self.latest, self.late)
        if self.late > LATE * max(1.0, load()):
            self.too_late = max(self.too_late, self.late)
        self._seen = now
        self.views += 1
        self.sizes.append(self.memory())
        self.targets.append(self._target())
        if now - self._line_at >= LINE:
            self.line(view)

    def line(self, view: View) -> None:
        self._line_at = time.monotonic()
        fds, threads, files = self.left()
        since, mine, target = self._line_at - self._began, self.memory(), self._target()
        late, self.late = self.late, 0.0
        print(
            f"{since:7.0f}  {self.phase:12} {view.iterations:12,} {len(view.streams):8,} {mine:11.1f}"
            f" {target:10.1f} {fds:4} {threads:8} {files:6} {late:7.2f}{load():6.1f}",
            flush=True,
        )

    def memory(self) -> float:
        return self._process.memory_info().rss / MB

    def left(self) -> tuple[int, int, int]:
        files = sum(1 for _ in self._directory.rglob("*"))
        return self._process.num_fds(), threading.active_count(), files

    def grown(self) -> float:
        """MB by which the second half of a phase ends above its middle."""
        half = self.sizes[len(self.sizes) // 2 :]
        return max(half[-3:]) - half[0] if len(half) > 3 else 0.0

    def _target(self) -> float:
        try:
            return psutil.Process(self.target).memory_info().rss / MB if self.target else 0.0
        except psutil.Error:
            return 0.0


class Soak:
    def __init__(self, directory: Path, seed: int) -> None:
        self.meter = Meter(directory)
        self.problems: list[str] = []
        self.runs = 0
        self._rng = random.Random(seed)

    def watch(self, phase: str, source: Source, leave_after: float = 0.0) -> View | None:
        """One program to its end, or until it is left alone."""
        self.meter.begin(phase)
        began, last = time.monotonic(), list[View]()

        def look(view: View) -> None:
            last[:] = [view]
            self.meter.target = source.pid or 0
            self.meter.look(view)
            if leave_after and time.monotonic() - began > leave_after:
                run.leave()

        run = Run(source, Lens(), look)
        try:
            run.pump()
        except Exception as error:
            self.problems.append(f"{phase}: {type(error).__name__}: {error}")
        self.runs += 1
        if last:
            self.meter.line(last[0]) if phase in ("samples", "streams", "50k streams", "gauges") else None
        return last[0] if last else None

    def large(self, phase: str, source: Source, says: Callable[[View], str]) -> None:
        view = self.watch(phase, source)
        grown = self.meter.grown()
        said = says(view) if view else "nothing was seen"
        print(f"         {phase}: {said}; grew by {grown:.1f} MB in its second half")
        if grown > GROWTH:
            self.problems.append(f"{phase}: the watcher grew by {grown:.0f} MB")

    def faults(self, until: float) -> None:
        base, sizes = None, list[float]()
        counts = dict.fromkeys(FAULTS, 0)
        while time.monotonic() < until:
            fault = self._rng.choice(FAULTS)
            counts[fault] += 1
            self._fault(fault)
            gc.collect()
            left, size = self.meter.left(), self.meter.memory()
            sizes.append(size)
            if len(sizes) == 10:  # modules are loaded, pools are filled
                base = left
            if base is not None and (left[0] > base[0] or left[1] > base[1] or left[2] > base[2]):
                self.problems.append(
                    f"{fault} left something: descriptors, threads, files {left}, before {base}"
                )
                base = left
        print("         faults:", ", ".join(f"{n} {name}" for name, n in counts.items()))
        if not sizes:
            return
        tenth, last = sizes[min(9, len(sizes) - 1)], sizes[-1]
        print(f"         memory after the 10th fault {tenth:.1f} MB, after the last {last:.1f} MB")
        if last - tenth > GROWTH:
            self.problems.append(f"faults: the watcher grew by {last - tenth:.0f} MB")

    def _fault(self, fault: str) -> None:
        seconds = f"{self._rng.uniform(1.0, 3.0):.2f}"
        kept = self._rng.random() < 0.5
        if fault == "mutants":
            self.watch(fault, Forged("mutants", str(self._rng.randrange(1 << 30)), seconds))
        elif fault == "gauges":
            self.watch(fault, Forged("gauges", "200000", seconds))
        elif fault == "leave":
            self.watch(fault, self._script("steps", "1.5", kept=True), leave_after=0.7)
            self._wait_for_the_end()
        else:
            self.watch(fault, self._script(fault, seconds, kept=kept))

    def _wait_for_the_end(self) -> None:
        """Of a script that was left alone. Its last words are kept for a day, for whoever asks."""
        deadline = time.monotonic() + 60
        while any(session.alive for session in find_sessions()):
            if time.monotonic() > deadline:
                self.problems.append("a script that was left alone does not end")
                return
            time.sleep(0.1)
        for session in find_sessions():
            session.discard()

    def _script(self, *arguments: str, kept: bool) -> ScriptSource:
        if kept:
            return ScriptSource([TARGET, *arguments], python=sys.executable)
        quiet = os.open(os.devnull, os.O_RDWR)
        source = ScriptSource([TARGET, *arguments], headless=True, stdin=quiet, python=sys.executable)
        started = source.start

        def start() -> None:  # its output is not ours to show
            saved = os.dup(1), os.dup(2)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            try:
                started()
            finally:
                for number, was in zip((1, 2), saved, strict=True):
                    os.dup2(was, number)
                    os.close(was)
                os.close(quiet)

        source.start = start  # type: ignore[method-assign]
        return source

    def run(self, seconds: float, samples: int) -> int:
        began = time.monotonic()
        rate = max(200_000, int(samples / (0.5 * seconds)))
        self.large(
            "samples",
            self._script("samples", str(samples), str(rate), kept=False),
            lambda v: f"{v.iterations:,} samples, {v.folded:,} of them folded, {v.lost:,} lost",
        )
        for count, phase in ((5_000, "streams"), (50_000, "50k streams")):
            hold = f"{max(10.0, 0.05 * seconds) + count / 4_000:.1f}"
            self.large(
                phase,
                Forged("streams", str(count), hold),
                lambda v: f"{v.streams[0].name}, {len(v.streams)} rows",
            )
        self.large(
            "gauges", Forged("gauges", "1000000", "20.0"), lambda v: f"{len(v.panels)} panels; {v.notes}"
        )
        self.faults(began + seconds)
        meter = self.meter
        took = time.monotonic() - began
        print(
            f"{self.runs} programs, {meter.views} views in {took:.0f} s, the latest {meter.latest:.2f} s late"
        )
        if meter.too_late:
            self.problems.append(f"a view was {meter.too_late:.1f} s late")
        for problem in self.problems:
            print(f"PROBLEM  {problem}")
        return 1 if self.problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--samples", type=int, default=100_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as directory:
        for name in ("XDG_RUNTIME_DIR", "TMPDIR", "TFSLOWTOP_SESSIONS"):
            place = Path(directory) / name
            place.mkdir(mode=0o700)
            os.environ[name] = str(place)
        tempfile.tempdir = None
        return Soak(Path(directory), options.seed).run(options.seconds, options.samples)


if __name__ == "__main__":
    sys.exit(main())
