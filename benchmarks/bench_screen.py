"""Does the screen disturb the kernel, and the kernel the screen? Child process against thread.

Distortion: the app shows a kernel that runs in a child, in a pseudo-terminal of 120x40. In shuffled blocks
the app is stopped (SIGSTOP) and goes on: the same process, the same memory, with and without a screen. The
ratio is that of a block with the screen to its neighbour without, the median over all pairs; the control is
the same between one block without and the next. A kernel in the app's own process (--in-process) cannot be
told apart like that: it is measured against the blocks without a screen of the child.

Stalls: in runs of their own the app ticks every 10 ms and writes down the gaps.

    python benchmarks/bench_screen.py [rounds] [seconds] [kernel ...]
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "helpers")]

from terminal import Terminal  # noqa: E402

KERNELS = ("numpy_1ms", "eager_ops", "function_1ms", "retrace", "both_cores")

#: Seconds with and without the screen in turn, and what is left out after each turn: the app catches up.
BLOCK, SETTLE = 1.5, 0.3

#: Iterations that a block must have to count.
FEWEST = 10

Spans = list[tuple[bool, float, float]]


def under_the_app(
    path: Path,
    how: str,
    seconds: float,
    *,
    ticks: bool = False,
    meanwhile: Callable[[Terminal], Spans] | None = None,
) -> tuple[dict, np.ndarray, Spans]:
    """Its own figures, the samples (start, wall, CPU; ns), and what `meanwhile` did."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "result.json"
        command = [sys.executable, str(HERE / "screen_app.py"), str(path), how, str(seconds), str(out)]
        terminal = Terminal([*command, "ticks"] if ticks else command, env={"PYTHONPATH": str(HERE.parent)})
        spans: Spans = []
        while terminal.process.poll() is None:
            terminal.read(0.2)
            if meanwhile is not None and not spans and out.with_suffix(".running").exists():
                spans = meanwhile(terminal)
        if not out.exists():
            raise SystemExit(f"the app ended without a result:\n{terminal.text}")
        result = json.loads(out.read_text()), np.load(out.with_suffix(".npy")), spans
        terminal.close()
        return result


def on_and_off(terminal: Terminal, seconds: float) -> Spans:
    """Stops the app and lets it go on, in pairs of shuffled order: (on, from, to)."""
    spans: Spans = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end and terminal.process.poll() is None:
        for on in random.sample((True, False), 2):
            terminal.process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)
            begin = time.perf_counter()
            while time.perf_counter() < begin + BLOCK:
                terminal.read(0.1)
            spans.append((on, begin + SETTLE, begin + BLOCK))
    terminal.process.send_signal(signal.SIGCONT)
    return spans


def blocks(samples: np.ndarray, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Median and 99th percentile of each block with the screen, and of its neighbour without."""
    start, end = samples[:, 0] / 1e9, (samples[:, 0] + samples[:, 1]) / 1e9
    wall = samples[:, 1] / 1e9
    seen: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for on, a, b in spans:
        seen[on].append(wall[(start >= a) & (end <= b)])
    pairs = [(x, y) for x, y in zip(seen[True], seen[False], strict=False) if len(x) >= FEWEST <= len(y)]
    with_screen, without = zip(*pairs, strict=True)
    return np.array([_levels(x) for x in with_screen]), np.array([_levels(x) for x in without])


def _levels(walls: np.ndarray) -> np.ndarray:
    return np.quantile(walls, [0.5, 0.99])


def _ratio(mine: np.ndarray, base: np.ndarray) -> list[float]:
    """Block against neighbour, and the median of that: what others do to one block is in that one alone."""
    return np.median(mine / base, axis=0).tolist()


def measure(path: Path, seconds: float) -> dict[str, list[float]]:
    """One round: name of a row → its ratios, and for rows with a screen its gaps and CPU."""
    _, samples, spans = under_the_app(
        path, "child", 3 * seconds, meanwhile=lambda terminal: on_and_off(terminal, 3 * seconds - 1)
    )
    with_screen, without = blocks(samples, spans)
    _, in_thread, _ = under_the_app(path, "in-process", seconds)
    rows = {
        "control": _ratio(without[1:], without[:-1]),
        "child": _ratio(with_screen, without),
        "in-process": _ratio(_levels(in_thread[:, 1] / 1e9), np.median(without, axis=0)[None]),
    }
    for how in ("child", "in-process"):
        ticking, _, _ = under_the_app(path, how, seconds, ticks=True)
        rows[how] += [*ticking["gaps"]["starting"][1:], *ticking["gaps"]["running"][1:]]
        rows[how].append(100 * ticking["cpu"])
    return rows


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 12.0
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, {rounds} rounds of {seconds:g} s")
    print("latency against the kernel without a screen; gaps of the screen's 10 ms ticks (p99, longest; ms)")
    print(f"{'kernel':13} {'way':11} {'median':>7} {'p99':>7} {'importing':>15} {'running':>15}      CPU")
    for kernel in sys.argv[3:] or KERNELS:
        all_rounds = [measure(HERE / "kernels" / f"{kernel}.py", seconds) for _ in range(rounds)]
        for way in all_rounds[0]:
            row = np.median([r[way] for r in all_rounds], axis=0)
            line = f"{kernel:13} {way:11} {row[0]:7.2f} {row[1]:7.2f}"
            if len(row) > 2:
                line += "   {:6.0f} {:6.0f}   {:6.0f} {:6.0f}   {:6.0f} %".format(*row[2:])
            print(line, flush=True)


if __name__ == "__main__":
    main()
