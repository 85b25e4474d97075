"""Programs with NumPy alone, for real: no hook is in them, but looks name what they are slow for."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tfslowtop.agent.code import containers as names
from tfslowtop.agent.code.ownership import Ownership
from tfslowtop.agent.safety.interrupt import Interrupt
from tfslowtop.agent.steps.tracker import Tracker

JOINED = """
import time
import numpy as np

def collect(seconds):
    rng = np.random.default_rng(0)
    history, end = np.empty((0, 512)), time.time() + seconds
    while time.time() < end:
        rows = rng.normal(size=(20, 512))
        history = np.concatenate([history, rows])
    return history

collect(9)
"""
KEPT = """
import time
import numpy as np

class Simulation:
    def __init__(self):
        self.state = np.linspace(0, 1, 400_000)
        self.trace = []

    def step(self):
        self.state = np.tanh(self.state + 0.1)
        self.trace.append(self.state.copy())

simulation, end = Simulation(), time.time() + 9
while time.time() < end or len(simulation.trace) < 150:
    simulation.step()
    time.sleep(0.04)
"""
EACH = """
import time
import numpy as np

def spread(row):
    return np.sort(row)[-3:].sum() / (row.std() + 1e-9)

def main():
    rng, end, total = np.random.default_rng(0), time.time() + 9, 0.0
    while time.time() < end:
        total += np.apply_along_axis(spread, 1, rng.normal(size=(500, 30))).sum()

main()
"""
HEALTHY = """
import time
import numpy as np

rng = np.random.default_rng(0)
images = []
for i in range(400):
    images.append(rng.normal(size=(250, 250)))
window, end = np.zeros((0, 250)), time.time() + 9
while time.time() < end:
    for image in images:
        u = np.exp(-image * image).mean(axis=0)
        window = np.concatenate([window, u[None]])[-50:]
print(window.shape)
"""
MARKED = """
import time
import numpy as np
import tfslowtop

x = np.linspace(0, 1, 200_000)
for i in range(200):
    with tfslowtop.step():
        x = np.tanh(x)
"""
SCRIPTS = {"joined": JOINED, "kept": KEPT, "each": EACH, "healthy": HEALTHY, "marked": MARKED}


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, tuple[dict, str]]:
    """All at once: what counts is where the time goes, not how much of it there is."""
    place: Path = tmp_path_factory.mktemp("numpy")
    running = {}
    for name, text in SCRIPTS.items():
        (place / f"{name}.py").write_text(text)
        command = [
            sys.executable,
            "-m",
            "tfslowtop",
            "--headless",
            "--json",
            f"{name}.json",
            "--attach",
            f"{name}.py",
        ]
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        running[name] = subprocess.Popen(command, cwd=place, env=env, stderr=subprocess.PIPE, text=True)
    told = {name: process.communicate()[1] for name, process in running.items()}
    return {name: (json.loads((place / f"{name}.json").read_text()), told[name]) for name in SCRIPTS}


@pytest.mark.parametrize(
    ("name", "cause", "line"),
    [
        ("joined", "growing-input", "history = np.concatenate([history, rows])"),
        ("kept", "python-leak", "self.trace.append(self.state.copy())"),
        ("each", "python-op", "total += np.apply_along_axis("),
    ],
)
def test_what_is_slow_is_named(reports, name, cause, line):
    report, _ = reports[name]
    first = report["findings"][0]
    assert first["cause"] == cause, first
    assert line in SCRIPTS[name].splitlines()[first["line"] - 1]
    assert report["target"]["exit_code"] == 0 and report["target"]["tensorflow"] is None


def test_a_healthy_one_is_told_where_its_time_goes(reports):
    report, text = reports["healthy"]
    assert [f["cause"] for f in report["findings"] if f["cause"] != "cpu-contention"] == []
    if not report["findings"]:
        assert "Nothing wrong found; most of the time is spent at healthy.py:" in text


def test_steps_that_are_marked_are_seen(reports):
    report, text = reports["marked"]
    assert [s["calls"] for s in report["streams"] if s["is_step"]] == [200]
    assert "It never imported TensorFlow.\n" in text and "no steps" not in text


def test_the_main_thread_is_interrupted_between_two_instructions():
    asked, lines = threading.get_ident(), []
    interrupt = Interrupt(lambda frame: lines.append((threading.get_ident(), frame.f_code.co_name)))
    threading.Thread(target=lambda: [time.sleep(0.2), interrupt.ask(), interrupt.ask()]).start()
    end = time.monotonic() + 60
    while not lines and time.monotonic() < end:
        pass
    assert lines == [(asked, "test_the_main_thread_is_interrupted_between_two_instructions")]


def test_what_a_signal_raises_meanwhile_is_the_programs():
    def alarm(number, frame):
        raise TimeoutError("the program's own")

    before = signal.signal(signal.SIGUSR1, alarm)
    interrupt = Interrupt(lambda frame: signal.raise_signal(signal.SIGUSR1))
    try:
        for _ in range(2):
            with pytest.raises(TimeoutError, match="own"):
                interrupt.ask()
                end = time.monotonic() + 60
                while time.monotonic() < end:
                    pass
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_what_goes_wrong_in_a_look_is_ours():
    wrong: list[BaseException] = []
    tracker = Tracker(Ownership("/elsewhere/train.py"), wrong.append)
    tracker.errand = lambda frame: names.weigh((1, 2), depth="deep")
    with pytest.raises(TypeError):  # this test is no library: as if the program's own
        tracker.run_errand(None)
    tracker.errand = functools.partial(names.weigh, depth="deep")
    tracker.run_errand((1, 2))
    assert [type(error) for error in wrong] == [TypeError]
