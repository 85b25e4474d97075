"""A source that plays a script: events as a real run sends them, at times of its own. No TensorFlow."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import numpy as np
import pytest

from tfslowtop.agent.protocol.events import (
    SAMPLE,
    About,
    Command,
    Ended,
    Event,
    Failed,
    Gauge,
    Hello,
    Output,
    Phase,
    Reason,
    Samples,
    SetFixes,
    SetParams,
    Stream,
    Toggled,
    Trace,
)
from tfslowtop.catalogue.find import Entry, load
from tfslowtop.ui.scenario_app import Options, ScenarioApp

SECOND = 1_000_000_000
BEGIN = 1_000 * SECOND
#: Iterations per second of the script.
RATE = 20

SCENARIO = '''"""A scenario for tests."""

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="History grows",
    kind="grows",
    claim="Every step gets slower, as it copies all the steps before it.",
    source="000, section 1",
    mechanism="np.append copies the whole history. So a step costs what all before it left. A list does not.",
    example="Runs as written; it times the copy and nothing else.",
    params=(
        Param("size", 100, "numbers per step", minimum=1),
        Param("dtype", "float32", "of the history", choices=("float32", "float64")),
    ),
    fixes=(
        Fix("keep_list", "append to a list"),
        Fix("smaller", "keep every second step", half=True),
    ),
)


def setup(params: Params) -> list:
    return [params.size]


def iteration(s: list, fixes: Fixes, i: int) -> float:
    new = [i] * s[0]
    if fixes.smaller and i % 2:
        return 0.0
    if fixes.keep_list:
        s.append(new)
        last = s[-1][-1]
    else:
        # All of it again.
        s[1:] = s[1:] + new
        last = s[-1]
    return float(last)
'''


class Played:
    """What every source is that has no process."""

    @property
    def pid(self) -> int | None:
        return None

    def start(self) -> None:
        pass

    def rest(self, seconds: float) -> bool:
        time.sleep(min(seconds, 0.02))
        return False

    def close(self) -> None:
        pass


class Script(Played):
    """A run that gets slower until `keep_list` is on. It is its own clock: time passes when it says so."""

    def __init__(self, seconds: float = 30.0) -> None:
        #: What the watcher may know of: it moves when events are taken, so that no view is between two.
        self.now = BEGIN
        self._written = BEGIN
        self.sent: list[Command] = []
        self.stopped = False
        self._level = 0.010
        self._iteration = self._traces = 0
        self._noise = np.random.default_rng(3)
        self._fixes: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._events: deque[Event] = deque(
            [
                Hello(1, "", 0, "3.12.0"),
                About("2.20.0", ("CPU:0",)),
                Phase("running", "", BEGIN),
                Stream(1, "history", "kernel", "history.py", 30),
                Toggled(0, (), BEGIN),
                Output("Epoch 1\n\x1b[32m10/10\x1b[0m done\r 5 % \r100 %\n"),
            ]
        )
        if seconds:
            self.play(seconds)

    def play(self, seconds: float) -> None:
        """That much of the run, at once."""
        self.put(*(event for _ in range(int(seconds)) for event in self._second()))

    def _second(self) -> list[Event]:
        cured = "keep_list" in self._fixes
        walls = []
        for _ in range(RATE):
            self._level = self._level if cured else self._level * 1.002
            value = 0.004 if cured else self._level
            walls.append(value * (1 + 0.03 * self._noise.standard_normal()))
        starts = self._written + np.arange(RATE) * (SECOND // RATE)
        packed = b"".join(
            SAMPLE.pack(int(s), int(w * 1e9), int(w * 0.9e9)) for s, w in zip(starts, walls, strict=True)
        )
        new: list[Event] = [Samples(1, self._iteration, packed)]
        self._iteration += RATE
        self._written += SECOND
        grown = 0 if cured else self._iteration
        new += [
            Gauge("rss", self._written, 4e8 + 5e4 * grown),
            Gauge("steps kept", self._written, float(grown)),
        ]
        if self._iteration % (5 * RATE) == 0 and not cured:
            self._traces += 1
            why = Reason("last", "retrace-python-value", str(self._traces), str(self._traces + 1))
            new.append(Trace("step", "/x/history.py", 12, self._traces, self._written, 30_000_000, (why,)))
        return new

    def put(self, *events: Event) -> None:
        with self._lock:
            self._events += events

    def fail(self) -> None:
        self.put(Failed(self._iteration, "history.py", 31, "ValueError: no", "Traceback ..."))
        self.put(Ended(1, "It failed.", self._written))

    # What a source is

    def events(self, timeout: float) -> Sequence[Event]:
        with self._lock:
            taken, self._events = list(self._events), deque()
            if taken:
                self.now = self._written
        return taken

    def send(self, command: Command) -> None:
        self.sent.append(command)
        if isinstance(command, SetFixes):
            self._fixes = command.fixes
            toggled = Toggled(self._iteration, command.fixes, self._written)
            self.put(toggled, *(event for _ in range(10) for event in self._second()))
        elif isinstance(command, SetParams):
            self._level = 0.010
            self.put(Toggled(self._iteration, self._fixes, self._written))

    def stop(self) -> None:
        self.stopped = True
        self.put(Ended(0, "It was stopped.", self._written))  # each time: runs one after the other share it


def entry(folder: Path) -> Entry:
    path = folder / "history.py"
    path.write_text(SCENARIO)
    return load(path)


class HasTime(Protocol):
    now: int


def freeze(monkeypatch: pytest.MonkeyPatch, script: HasTime) -> None:
    """The script's clock for all that ends up on the screen, and more views a second than people need."""
    clock = SimpleNamespace(
        perf_counter_ns=lambda: script.now,
        time_ns=lambda: script.now,
        monotonic=time.monotonic,
        process_time=lambda: 0.0,
    )
    monkeypatch.setattr("tfslowtop.run.time", clock)
    monkeypatch.setattr("tfslowtop.ui.base.time", clock)
    monkeypatch.setattr("tfslowtop.ui.exit_report.time", clock)
    monkeypatch.setattr("tfslowtop.ui.base.REFRESH", 0.1)
    monkeypatch.setattr("tfslowtop.ui.screens.scenario._NUMBERS_EVERY", 0.0)
    monkeypatch.setattr("tfslowtop.ui.screens.main._HEADLINE_EVERY", 0.0)


def app(folder: Path, script: Script, **options: object) -> ScenarioApp:
    one = entry(folder)
    return ScenarioApp(Options([one], one, source=lambda _: script, **options))  # type: ignore[arg-type]
