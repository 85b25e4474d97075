"""Does the screen disturb the kernel, and the kernel the screen? Child process against thread.

For each kernel: the same kernel without any screen (twice: the second is the off-against-off control), under
the app in a child process, and under the app in a thread of its own process. Order shuffled, several rounds,
ratios of one round's runs, their median. The screen is a real one: the app in a pseudo-terminal of 120x40.

    python benchmarks/bench_screen.py [rounds] [seconds] [kernel ...]
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

from terminal import Terminal  # noqa: E402

from tfslowtop.agent.events import Ended, Phase, Samples  # noqa: E402
from tfslowtop.sources.child import ChildSource  # noqa: E402

KERNELS = ("eager_ops", "function_1ms", "retrace", "both_cores")
WAYS = ("none", "none again", "child", "in-process")


def without(path: Path, seconds: float) -> dict:
    """The kernel alone: its samples are taken from the socket and nothing is done with them."""
    source = ChildSource(path)
    source.start()
    walls: list[np.ndarray] = []
    since = None
    while True:
        for event in source.events(0.05):
            if isinstance(event, Phase) and event.name == "running":
                since = time.monotonic()
            elif isinstance(event, Samples):
                walls.append(np.frombuffer(event.packed, "<i8").reshape(-1, 3)[:, 1] / 1e9)
            elif isinstance(event, Ended):
                source.close()
                return {"walls": np.concatenate(walls)[-8192:].tolist()}
        if since is not None and time.monotonic() - since > seconds:
            source.stop()


def under_the_app(path: Path, how: str, seconds: float) -> dict:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "result.json"
        command = [sys.executable, str(HERE / "screen_app.py"), str(path), how, str(seconds), str(out)]
        terminal = Terminal(command, env={"PYTHONPATH": str(HERE.parent)})
        while terminal.process.poll() is None:
            terminal.read(0.2)
        if not out.exists():
            raise SystemExit(f"the app ended without a result:\n{terminal.text}")
        result = json.loads(out.read_text())
        terminal.close()
        return result


def measure(kernel: str, seconds: float) -> dict[str, dict]:
    path = HERE / "kernels" / f"{kernel}.py"
    results = {}
    for way in random.sample(WAYS, len(WAYS)):
        if way.startswith("none"):
            results[way] = without(path, seconds)
        else:
            results[way] = under_the_app(path, way, seconds)
    return results


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 8.0
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, {rounds} rounds of {seconds:g} s")
    print("latency against the kernel alone; gaps of the screen's 10 ms ticks (p99, longest; ms)")
    print(f"{'kernel':13} {'way':11} {'median':>7} {'p99':>7} {'importing':>15} {'running':>15} {'CPU':>8}")
    for kernel in sys.argv[3:] or KERNELS:
        all_rounds = [measure(kernel, seconds) for _ in range(rounds)]
        for way in WAYS[1:]:
            ratios = []
            for results in all_rounds:
                base, mine = (np.array(results[w]["walls"]) for w in ("none", way))
                ratios.append(
                    [np.median(mine) / np.median(base), np.quantile(mine, 0.99) / np.quantile(base, 0.99)]
                )
            median, p99 = np.median(ratios, axis=0)
            line = f"{kernel:13} {way:11} {median:7.2f} {p99:7.2f}"
            if "gaps" in all_rounds[0][way]:
                for phase in ("starting", "running"):
                    gaps = np.median([r[way]["gaps"][phase][1:] for r in all_rounds], axis=0)
                    line += f"   {gaps[0]:6.0f} {gaps[1]:6.0f}"
                line += f"  {100 * np.median([r[way]['cpu'] for r in all_rounds]):6.0f} %"
            print(line, flush=True)


if __name__ == "__main__":
    main()
