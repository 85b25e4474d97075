"""What being watched costs, against the same program unwatched, in the same run.

    python benchmarks/bench_overhead.py [--seconds 30] [--rounds 3]     # about 15 minutes
    python benchmarks/bench_overhead.py --quick                         # about 5

Three ways to ask, from the finest to the most honest:

- hooks: they are put in and taken out every few milliseconds, hundreds of times, while the sender thread runs
  all along. A busy machine disturbs few of such short blocks. The CPU time of the sender thread is told as a
  share of the time: that is the most that it can take from the program.
- blocks: in one process, blocks of 0.2 s with the agent (hooks in, its thread running) and without (hooks
  out, no thread).
- processes: the whole program, started bare, bare again, by `tfslowtop --headless --attach`, under cProfile
  and under `py-spy record`.

Each round has all of them in shuffled order. Its base is the mean of its two runs without; one of these
against the other is the control. A figure is the median of the ratios over the rounds, with the interval that
has it with 95 % confidence (for few rounds: their range). Wall time, CPU time of the process (with our thread
in it) and CPU time of the main thread stand beside each other, because neighbours raise the first one first.
What the control cannot tell from 1, the other rows cannot either.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import overhead_loops  # noqa: E402
from overhead_loops import CASES, EAGER, Loop, Row, best, block, case  # noqa: E402

#: Case: the ratio that attach must keep.
LIMITS = {"tf.function, 1 ms": 1.01, "tf.function, 0.1 ms": 1.05, EAGER: 1.10}

_READER = """
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(4); print("ready", flush=True)
while True:
    c, _ = s.accept()
    while c.recv(1 << 20):
        pass
"""
#: The arms of whole processes in the last table.
_WHOLE = ("control", "attached", "cProfile", "py-spy")
_ATTACHED = "import sys; from tfslowtop.commands.main import main; sys.exit(main())"


class Agent:
    """The agent in this process, on and off: hooks, the collector's callback and the thread."""

    def __init__(self, address: str) -> None:
        from tfslowtop.agent.attachment import start
        from tfslowtop.agent.protocol.channel import SocketChannel

        sock = socket.socket(socket.AF_UNIX)
        sock.connect(address)
        self._bare = list(gc.callbacks)
        self.attachment = start(SocketChannel(sock), step=None, script=overhead_loops.__file__)
        self._callbacks = list(gc.callbacks)
        self._active: list[Any] = []

    def off(self, thread: bool = True) -> None:
        if thread:
            self.attachment.agent.rest()
        patches = [patch for hook in self.attachment._hooks for patch in hook.patches]
        self._active = [patch for patch in patches if patch.active]
        for patch in self._active:
            patch.off()
        gc.callbacks[:] = self._bare

    def on(self, thread: bool = True) -> None:
        for patch in self._active:
            patch.on()
        gc.callbacks[:] = self._callbacks
        if thread:
            self.attachment.agent.start()
            time.sleep(0.01)  # past the first tick: a start is not what is measured

    def end(self) -> None:
        self.attachment.remove()
        if self.attachment.context.errors:
            print(f"  the agent had {self.attachment.context.errors} errors", file=sys.stderr)


def alternate(
    loop: Loop, agent: Agent, seconds: float, length: float, *, thread: bool, warm_up: float = 0.0
) -> dict[str, list[Row]]:
    """Blocks with and without the agent in one run of the loop; its thread goes too, or runs all along."""
    rows: dict[str, list[Row]] = {"off": [], "control": [], "attached": []}
    steps = max(2, int(length / best(loop)))

    def items() -> Iterator[int]:
        end = time.perf_counter() + warm_up
        while time.perf_counter() < end:
            yield 0
        end += seconds
        while time.perf_counter() < end or len(rows["off"]) < 5:
            for arm in random.sample(list(rows), 3):
                if arm != "attached":
                    agent.off(thread)
                yield from range(max(1, steps // 20))
                yield from block(steps, rows[arm])
                if arm != "attached":
                    agent.on(thread)

    loop(items())
    return rows


def hooks(loop: Loop, agent: Agent, seconds: float) -> tuple[dict[str, list[Row]], float]:
    """The hooks alone, and the share of a core that the sender thread takes beside them."""
    before, began = agent.attachment.agent.thread_time(), time.perf_counter()
    rows = alternate(loop, agent, seconds, 0.004, thread=False, warm_up=overhead_loops.WARM_UP)
    share = (agent.attachment.agent.thread_time() - before) / (time.perf_counter() - began)
    return rows, share


def processes(
    arms: dict[str, list[str]], found: dict[str, int], rounds: int, seconds: float, directory: Path
) -> dict[str, dict[str, list[Row]]]:
    """Case, then arm: what each whole process measured of itself."""
    rows: dict[str, dict[str, list[Row]]] = {name: {arm: [] for arm in arms} for name in found}
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    result = directory / "result.json"
    for _ in range(rounds):
        for arm in random.sample(list(arms), len(arms)):
            result.unlink(missing_ok=True)
            work = [str(result), str(seconds), *(f"{name}={size}" for name, size in found.items())]
            command = [*arms[arm], overhead_loops.__file__, *work]
            done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
            if not result.exists():
                print(f"{arm} is left out: {done.stderr.strip()[-300:]}", file=sys.stderr)
                continue
            for name, row in json.loads(result.read_text()).items():
                rows[name][arm].append(tuple(row))
    return rows


def launchers(directory: Path, quick: bool) -> dict[str, list[str]]:
    bare = [sys.executable]
    arms = {
        "off": bare,
        "control": bare,
        "attached": [sys.executable, "-c", _ATTACHED, "--headless", "--attach"],
    }
    if not quick:
        arms["cProfile"] = [sys.executable, "-m", "cProfile", "-o", os.devnull]
        py_spy = find_py_spy(directory)
        if py_spy is not None:
            arms["py-spy"] = [py_spy, "record", "-o", os.devnull, "-f", "raw", "--", sys.executable]
    return arms


def find_py_spy(directory: Path) -> str | None:
    found = shutil.which("py-spy")
    if found:
        return found
    try:
        venv.create(directory / "venv", with_pip=True)
        pip = [str(directory / "venv/bin/python"), "-m", "pip", "install", "-q", "py-spy"]
        subprocess.run(pip, check=True, timeout=120, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        print("py-spy is left out: it is not installed and cannot be fetched", file=sys.stderr)
        return None
    return str(directory / "venv/bin/py-spy")


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median, and the order statistics that enclose the true one with 95 % confidence."""
    values = sorted(values)
    n = len(values)
    low = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    return statistics.median(values), values[low], values[n - 1 - low]


def over_base(rows: dict[str, list[Row]], arm: str, i: int) -> list[tuple[float, float]]:
    """What each round's run took, and its base; the control's base is the other run without."""
    pairs = []
    for mine, off, again in zip(rows[arm], rows["off"], rows["control"], strict=False):
        pairs.append((mine[i], off[i] if arm == "control" else (off[i] + again[i]) / 2))
    return pairs


def ratio(rows: dict[str, list[Row]], arm: str, i: int) -> tuple[float, float, float]:
    return interval([mine / base for mine, base in over_base(rows, arm, i)])


def table(title: str, rows: dict[str, list[Row]]) -> None:
    rounds = min((len(values) for values in rows.values() if values), default=0)
    print(f"  {title}, {rounds} rounds")
    for arm in [arm for arm, values in rows.items() if values and arm != "off"]:
        cells = ["{:.3f} [{:.3f}–{:.3f}]".format(*ratio(rows, arm, i)) for i in range(3)]
        print(f"    {arm:10} {' '.join(f'{cell:>22}' for cell in cells)}")


def report(
    name: str,
    alone: dict[str, list[Row]],
    share: float,
    inside: dict[str, list[Row]],
    whole: dict[str, list[Row]],
) -> str:
    """Prints the case's tables; its line of the last table comes back."""
    step = statistics.median(row[0] for row in alone["off"]) / 1e3
    limit = f"{LIMITS[name]:.2f}" if name in LIMITS else ""
    print(f"\n{name}: {step:.0f} µs per step{limit and f'; limit for attached {limit}'}")
    print(f"    {'':10} {'wall':>22} {'CPU of the process':>22} {'CPU, main thread':>22}")
    table("hooks alone", alone)
    added = interval([(mine - base) / 1e3 for mine, base in over_base(alone, "attached", 2)])
    # Over the CPU time of a whole step: the main thread's difference is told best, and waiting is no base.
    together = 1 + added[0] / (statistics.median(row[1] for row in alone["off"]) / 1e3) + share
    print(
        f"    that is {added[0]:+.2f} µs [{added[1]:+.2f}, {added[2]:+.2f}] in the main thread; "
        f"the sender takes {share:.2%} of a core: together ×{together:.4f}"
    )
    table("blocks of one process", inside)
    if whole:
        table("whole processes", whole)
    cells = [
        f"{together:.3f}",
        f"{ratio(inside, 'attached', 0)[0]:.3f}",
        f"{ratio(inside, 'attached', 1)[0]:.3f}",
    ]
    cells += [f"{ratio(whole, arm, 0)[0]:.2f}" if whole.get(arm) else "" for arm in _WHOLE]
    return f"{name:36} {step:6.0f} µs {limit:>6} {' '.join(f'{cell:>8}' for cell in cells)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30, help="of each kind of blocks, per case")
    parser.add_argument("--rounds", type=int, default=3, help="of whole processes")
    parser.add_argument("--cases", nargs="*", default=list(CASES), help="parts of their names")
    parser.add_argument(
        "--quick", action="store_true", help="a few minutes: no cProfile, no py-spy, few rounds"
    )
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.rounds = min(options.seconds, 10), min(options.rounds, 1)
    overhead_loops.quiet_tensorflow()
    wanted = [name for name in CASES if any(part in name for part in options.cases)]
    found = {name: size for name, size in overhead_loops.sizes().items() if name in wanted}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        arms = launchers(directory, options.quick)
        whole = processes(arms, found, options.rounds, 2.0, directory) if options.rounds else {}
        address = str(directory / "reader")
        reader = subprocess.Popen([sys.executable, "-c", _READER, address], stdout=subprocess.PIPE)
        assert reader.stdout is not None
        reader.stdout.readline()
        lines = []
        try:
            for name, size in found.items():
                loop, agent = case(name, size), Agent(address)
                alone, share = hooks(loop, agent, options.seconds)
                inside = alternate(loop, agent, options.seconds, 0.2, thread=True)
                lines.append(report(name, alone, share, inside, whole.get(name, {})))
                agent.end()
        finally:
            reader.kill()
            reader.wait()
    titles = ["hooks +", "blocks", "blocks", "whole", "whole", "whole", "whole"]
    print(f"\n{'':36} {'':9} {'':6} {' '.join(f'{title:>8}' for title in titles)}")
    titles = ["sender", "wall", "CPU", "control", "attached", "cProfile", "py-spy"]
    print(f"{'':36} {'step':>9} {'limit':>6} {' '.join(f'{title:>8}' for title in titles)}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
