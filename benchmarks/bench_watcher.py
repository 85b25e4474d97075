"""What the watcher itself costs: CPU, bytes to the terminal, and the time from a key to the screen.

The app in a pseudo-terminal of 120x40 with real TensorFlow in its child, six panels, all curves moving: while
somebody is at the keys, left alone, and paused. A second pass of each is the control.

    python benchmarks/bench_watcher.py [seconds] [scenario]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import psutil

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "helpers")]

from terminal import Terminal  # noqa: E402

from tfslowtop.ui.scenario_app import ScenarioApp  # noqa: E402

SIX = HERE / "kernels" / "six_panels.py"


def cost(terminal: Terminal, seconds: float) -> tuple[float, float]:
    """CPU share of one core, and kilobytes a second."""
    process = psutil.Process(terminal.process.pid)
    before, bytes_before, start = process.cpu_times(), terminal.received, time.monotonic()
    while time.monotonic() - start < seconds:
        terminal.read(0.2)
    after, span = process.cpu_times(), time.monotonic() - start
    used = after.user + after.system - before.user - before.system
    return 100 * used / span, (terminal.received - bytes_before) / span / 1000


def report(terminal: Terminal, name: str, seconds: float, key: str = "") -> None:
    """Twice; a `key` that changes nothing says that somebody is there."""
    for again in ("", " again"):
        terminal.press(key)
        cpu, rate = cost(terminal, seconds)
        print(f"{name + again:17} {cpu:5.1f} % of a core  {rate:6.1f} KB/s", flush=True)


def key_to_screen(terminal: Terminal, presses: int) -> list[float]:
    """Milliseconds from pressing space until the word PAUSED comes out of the app."""
    times = []
    for _ in range(presses):
        terminal.read(0.1 + 0.2 * np.random.random())
        terminal.raw = b""
        start = time.perf_counter()
        terminal.press(" ")
        while b"PAUSED" not in terminal.raw:
            terminal.read(0.002)
        times.append(1e3 * (time.perf_counter() - start))
        terminal.press(" ")
        terminal.wait_for(lambda text: "PAUSED" not in text, 5)
    return times


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    scenario = sys.argv[2] if len(sys.argv) > 2 else str(SIX)
    name = Path(scenario).stem
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, {name}, {seconds:g} s each")
    terminal = Terminal([sys.executable, "-m", "tfslowtop", scenario], env={"PYTHONPATH": str(HERE.parent)})
    terminal.wait_for(r"running · [\d,]+ it", 120)
    cost(terminal, 5)
    if scenario == str(SIX):
        for panel in ("latency", "memory", "retraces", "results kept", "wave", "saw"):
            assert panel in terminal.text, f"no panel {panel}:\n{terminal.text}"
    report(terminal, "at the keys", min(seconds, ScenarioApp.IDLE_AFTER - 1), "k")
    cost(terminal, ScenarioApp.IDLE_AFTER + 1)
    report(terminal, "left alone", seconds)
    terminal.press(" ")
    terminal.wait_for("PAUSED", 5)
    report(terminal, "paused", seconds)
    terminal.press(" ")
    terminal.wait_for(lambda text: "PAUSED" not in text, 5)
    times = key_to_screen(terminal, 60)
    low, high = np.quantile(times, [0.5, 0.95])
    print(f"key to screen     median {low:.0f} ms, p95 {high:.0f} ms")
    terminal.press("q")
    terminal.finish(10)
    terminal.close()


if __name__ == "__main__":
    main()
