"""What being watched costs, against the same program unwatched, in the same run.

    python benchmarks/bench_overhead.py [--seconds 40] [--quick]

One process runs blocks of steps in shuffled order: off, off again (the control), attached, under cProfile,
and under py-spy where it is to be had. A reader in a process of its own takes what the agent sends, as the
watcher does. Each figure is the median over rounds of a block's time per step divided by that of the "off"
block of the same round; CPU time stands beside wall time, because neighbours raise wall time first. The
spread of the control says what can be told apart at all. A second measurement puts the hooks in and out
every few milliseconds and compares low quantiles: what they cost by themselves, also on a busy machine.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

#: Case: the limit that attach must keep.
LIMITS = {"tf.function, 1 ms": 1.01, "tf.function, 0.1 ms": 1.05, "eager loop of tiny ops": 1.10}

_READER = """
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(4); print("ready", flush=True)
while True:
    c, _ = s.accept()
    while c.recv(1 << 20):
        pass
"""


def cases() -> dict[str, Callable[[int], None]]:
    import tensorflow as tf

    def function_of(size: int, rounds: int) -> Callable[[int], None]:
        w = tf.Variable(tf.random.normal([size, size]) / size)

        @tf.function
        def step(x: tf.Tensor) -> tf.Tensor:
            for _ in tf.range(rounds):
                x = tf.tanh(x @ w)
            return x

        x = tf.random.normal([size, size])
        step(x)

        def run(n: int) -> None:
            for _ in range(n):
                step(x)

        return run

    def sized(target: float) -> Callable[[int], None]:
        rounds = 1
        while True:
            run = function_of(48, rounds)
            run(20)
            took = _best(run)
            if took > target or rounds > 4000:
                return run
            rounds = max(rounds + 1, int(rounds * min(target / took, 4) * 1.05))

    x = tf.random.normal([4, 4])

    def eager(n: int) -> None:
        for _ in range(n):
            y = x + 1.0
            y = tf.tanh(y)
            y = y * x
            y = tf.reduce_sum(y)

    return {
        "tf.function, 1 ms": sized(1e-3),
        "tf.function, 0.1 ms": sized(1e-4),
        "eager loop of tiny ops": eager,
    }


def _best(run: Callable[[int], None]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        run(10)
        times.append((time.perf_counter() - start) / 10)
    return min(times)


@contextmanager
def attached(address: str) -> Iterator[None]:
    from tfslowtop.agent.attach import start
    from tfslowtop.agent.channel import SocketChannel

    sock = socket.socket(socket.AF_UNIX)
    sock.connect(address)
    attachment = start(SocketChannel(sock), step=None, script=__file__)
    try:
        time.sleep(0.15)  # past the first tick
        yield
    finally:
        attachment.remove()
        if attachment.kit.errors:
            print(f"  the agent had {attachment.kit.errors} errors", file=sys.stderr)


@contextmanager
def profiled() -> Iterator[None]:
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()


@contextmanager
def spied(py_spy: str) -> Iterator[None]:
    command = [py_spy, "record", "--pid", str(os.getpid()), "-o", os.devnull, "-f", "raw", "-d", "60"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1.0)
        if process.poll() is not None:
            raise RuntimeError("py-spy could not attach")
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait()


@contextmanager
def nothing() -> Iterator[None]:
    time.sleep(0.15)
    yield


def find_py_spy(directory: Path) -> str | None:
    found = shutil.which("py-spy")
    if found:
        return found
    try:
        venv.create(directory / "venv", with_pip=True)
        pip = [str(directory / "venv/bin/python"), "-m", "pip", "install", "-q", "py-spy"]
        subprocess.run(pip, check=True, timeout=120, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return str(directory / "venv/bin/py-spy")


def measure(
    run: Callable[[int], None], arms: dict[str, Callable[[], object]], seconds: float
) -> dict[str, list]:
    """Blocks in shuffled order, until the time is up: (wall, CPU) per step of each arm, round by round."""
    run(20)
    steps = max(5, int(0.25 / _best(run)))
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(results["off"]) < 5:
        for name in random.sample(list(arms), len(arms)):
            with arms[name]():  # type: ignore[attr-defined]
                run(max(2, steps // 20))
                cpu, wall = time.process_time(), time.perf_counter()
                run(steps)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            results[name].append((wall / steps, cpu / steps))
    return results


def hot_path(run: Callable[[int], None], address: str, seconds: float) -> tuple[float, float, float, float]:
    """The hooks alone: put in and taken out every few milliseconds, the agent's thread running all the time.

    Gives microseconds per step without them, what they add, what a second "without" adds, and the CPU share
    of the agent's thread. Compares low quantiles, which a busy machine moves little.
    """
    from tfslowtop.agent.attach import start
    from tfslowtop.agent.channel import SocketChannel

    sock = socket.socket(socket.AF_UNIX)
    sock.connect(address)
    attachment = start(SocketChannel(sock), step=None, script=__file__)
    run(20)
    time.sleep(3)  # a pure eager loop gets its mark by now, if it runs meanwhile
    deadline = time.perf_counter() + 4
    while time.perf_counter() < deadline:
        run(5)
    patches = [patch for hook in attachment._hooks for patch in hook.patches if patch.active]
    steps = max(2, int(0.004 / _best(run)))
    took: dict[str, list[float]] = {"off": [], "again": [], "on": []}
    ours, began = attachment.agent.thread_time(), time.perf_counter()
    end = began + seconds
    while time.perf_counter() < end:
        for arm in random.sample(list(took), 3):
            for patch in patches:
                patch.on() if arm == "on" else patch.off()
            run(1)
            before = time.thread_time_ns()
            run(steps)
            took[arm].append((time.thread_time_ns() - before) / steps / 1e3)
    share = (attachment.agent.thread_time() - ours) / (time.perf_counter() - began)
    attachment.remove()
    low = {arm: statistics.quantiles(values, n=10)[2] for arm, values in took.items()}
    return low["off"], low["on"] - low["off"], low["again"] - low["off"], share


def report(case: str, results: dict[str, list[tuple[float, float]]]) -> None:
    base = results["off"]
    step = statistics.median(wall for wall, _ in base) * 1e3
    print(f"\n{case}: {step:.3f} ms per step, {len(base)} rounds; limit for attached {LIMITS[case]:.2f}")
    print(f"  {'':10} {'wall':>7} {'25–75 %':>15} {'CPU':>7} {'25–75 %':>15}")
    for name, rows in results.items():
        if name == "off":
            continue
        cells = []
        for i in (0, 1):
            ratios = [row[i] / off[i] for row, off in zip(rows, base, strict=False)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            cells.append(f"{middle:7.3f} {f'{low:.3f}–{high:.3f}':>15}")
        print(f"  {name:10} {' '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=40, help="per case")
    parser.add_argument("--quick", action="store_true", help="without cProfile and py-spy")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        address = str(directory / "reader")
        reader = subprocess.Popen([sys.executable, "-c", _READER, address], stdout=subprocess.PIPE)
        assert reader.stdout is not None
        reader.stdout.readline()
        arms: dict[str, Callable[[], object]] = {
            "off": nothing,
            "control": nothing,
            "attached": lambda: attached(address),
        }
        if not options.quick:
            arms["cProfile"] = profiled
            py_spy = find_py_spy(directory)
            try:
                with spied(py_spy or ""):
                    pass
                arms["py-spy"] = lambda: spied(py_spy or "")
            except (OSError, RuntimeError) as error:
                print(f"py-spy is left out: {error}")
        try:
            for case, run in cases().items():
                report(case, measure(run, arms, options.seconds))
                off, added, control, share = hot_path(run, address, options.seconds / 2)
                print(
                    f"  hooks alone: {added:+.2f} µs on {off:.1f} µs of the main thread's CPU "
                    f"(×{1 + added / off:.3f}, control {control:+.2f}); agent's thread {share:.2%} of a core"
                )
        finally:
            reader.kill()
            reader.wait()


if __name__ == "__main__":
    main()
