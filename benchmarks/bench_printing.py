"""How fast can a script print while it is watched? In the app and headless, against the script alone.

    python benchmarks/bench_printing.py [rounds] [megabytes]

The script prints lines of 100 characters to a terminal of 80x24, which is read as fast as it can be, and says
how long that took; its start and ours are not in it. Each round has every arm in shuffled order. Its base is
the mean of its two runs alone; one of these against the other is the control. A figure is the median of the
ratios over the rounds, with their range. In the app the script has a terminal of its own, so that the base
is the same in both rows.
"""

from __future__ import annotations

import os
import pty
import random
import select
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: A ratio that no row may exceed: at least half the plain speed.
LIMIT = 2.0

_SCRIPT = """
import os, sys, time
text, begin = "x" * 99, time.perf_counter()
for _ in range(int(float(sys.argv[2]) * 10_000)):
    print(text)
sys.stdout.flush()
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(time.perf_counter() - begin))
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""
_WATCH = "import sys; from tfslowtop.commands.main import main; sys.exit(main())"
_WATCHED = [sys.executable, "-c", _WATCH]
ARMS = {
    "alone": [sys.executable],
    "control": [sys.executable],
    "headless": [*_WATCHED, "--headless", "--attach"],
    "app": [*_WATCHED, "--attach"],
}


def seconds_to_print(command: list[str], megabytes: float) -> float:
    """What the script says of itself."""
    with tempfile.TemporaryDirectory(prefix="tfs-") as directory:
        script, result = Path(directory) / "prints.py", Path(directory) / "seconds"
        script.write_text(_SCRIPT)
        master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [*command, str(script), str(result), str(megabytes)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        while not result.exists() and process.poll() is None:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    os.read(master, 1 << 16)
                except OSError:  # nobody has the other end any more
                    break
        os.close(master)
        process.send_signal(signal.SIGTERM)  # the app stays open at the script's end
        process.wait()
        return float(result.read_text())


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    megabytes = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
    print(
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, {rounds} rounds of {megabytes:g} MB"
    )
    ratios: dict[str, list[float]] = {arm: [] for arm in ARMS if arm != "alone"}
    speeds = []
    for _ in range(rounds):
        took = {arm: seconds_to_print(ARMS[arm], megabytes) for arm in random.sample(list(ARMS), len(ARMS))}
        base = (took["alone"] + took["control"]) / 2
        speeds.append(megabytes / base)
        ratios["control"].append(took["control"] / took["alone"])
        for arm in ("headless", "app"):
            ratios[arm].append(took[arm] / base)
    print(f"alone: {statistics.median(speeds):.1f} MB/s")
    for arm, row in ratios.items():
        over = "   over the limit" if statistics.median(row) > LIMIT else ""
        print(f"{arm:9} ×{statistics.median(row):.2f} ({min(row):.2f}–{max(row):.2f}){over}", flush=True)


if __name__ == "__main__":
    main()
