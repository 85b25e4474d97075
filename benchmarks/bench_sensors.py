"""What looking costs: the CPU that the sensors take, and what they do to the program that is watched.

    python benchmarks/bench_sensors.py [--seconds 4] [--rounds 6] [--gpus 0]

Two figures, from one run:

* share of one core that the sampler's threads use at the default rates (goal: under 1 %);
* wall and CPU time per step of a target that only computes, with sensors on against off. On, off and off
  again (the control: what the ratio of two equal things looks like on this machine) come in shuffled order
  within each round, and the ratios are of rounds, so a machine that drifts does not fool it. Where the
  control is far from 1 the machine is busy, and the ratio says nothing.

`--gpus` adds the cost of reading pretended GPUs through pynvml; the library under it is the tests' stand-in,
which answers from a text in memory and blocks less than hardware does.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]

from tfslowtop.sensors.sampler import Sampler  # noqa: E402

TARGET = """
import sys, time
hoard = bytearray(256 << 20)
hoard[::4096] = b"x" * (len(hoard) // 4096)
for line in sys.stdin:
    end, steps = time.perf_counter() + float(line), 0
    begun, used = time.perf_counter(), time.process_time()
    while time.perf_counter() < end:
        sum(range(20000)); steps += 1
    print((time.perf_counter() - begun) / steps, (time.process_time() - used) / steps, flush=True)
"""


def block(target: subprocess.Popen[str], seconds: float, on: bool) -> tuple[float, float, float]:
    """Wall and CPU seconds per step of the target, and the share of a core that we used meanwhile."""
    assert target.stdin and target.stdout
    sampler = Sampler(target.pid) if on else None
    if sampler:
        sampler.start()
        time.sleep(0.5)
    used, begun = time.process_time(), time.perf_counter()
    target.stdin.write(f"{seconds}\n")
    target.stdin.flush()
    wall, cpu = map(float, target.stdout.readline().split())
    share = (time.process_time() - used) / (time.perf_counter() - begun)
    if sampler:
        sampler.stop()
    return wall, cpu, share


def measure(seconds: float, rounds: int) -> None:
    target = subprocess.Popen(
        [sys.executable, "-c", TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    block(target, 1.0, on=False)
    block(target, 1.0, on=True)
    shares: list[float] = []
    ratios: dict[str, list[float]] = {}
    for number in range(rounds):
        order = ["on", "off", "control"]
        random.shuffle(order)
        found = {name: block(target, seconds, name == "on") for name in order}
        shares.append(100 * found["on"][2])
        for position, kind in enumerate(("wall", "CPU")):
            for name, label in (("on", "on / off"), ("control", "off / off")):
                ratio = found[name][position] / found["off"][position]
                ratios.setdefault(f"{kind} per step, {label}", []).append(ratio)
        print(f"round {number + 1}: {' '.join(order)}: {shares[-1]:.2f} % of a core", file=sys.stderr)
    target.kill()
    target.wait()
    print(f"sensors use {statistics.median(shares):.2f} % of one core (worst {max(shares):.2f} %)")
    for label, values in ratios.items():
        print(f"{label:24} {statistics.median(values):.4f} (from {min(values):.4f} to {max(values):.4f})")
    print(f"{rounds} rounds of 3 × {seconds} s, load average {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--gpus", type=int, default=0)
    options = parser.parse_args()
    if options.gpus and "NVML_STAND_IN" not in os.environ:
        import nvml_stand_in as stand_in

        with tempfile.TemporaryDirectory() as folder:
            script = stand_in.Script(Path(folder) / "script")
            for n in range(options.gpus):
                first = {k: v for k, v in stand_in.TWO_GPUS.items() if k.startswith("gpu.0.")}
                script.put({key.replace("gpu.0.", f"gpu.{n}."): value for key, value in first.items()})
                script.put({f"gpu.{n}.uuid": f"GPU-{n}", "count": options.gpus})
            # A library path only counts for a process that starts with it.
            child = [sys.executable, __file__, *sys.argv[1:]]
            where = stand_in.build(Path(folder))
            sys.exit(subprocess.run(child, env=stand_in.environment(where, script), check=False).returncode)
    measure(options.seconds, options.rounds)


if __name__ == "__main__":
    main()
