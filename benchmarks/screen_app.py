"""The app with a stop-watch in it: it ticks every 10 ms and writes down the gaps. Run by bench_screen."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from tfslowtop.catalogue import load
from tfslowtop.sources.inprocess import take_output
from tfslowtop.ui.app import Options, TfslowtopApp


class Timed(TfslowtopApp):
    """Measures from the first frame to the end of import and setup, and again while the kernel runs."""

    def __init__(self, options: Options, seconds: float, out: Path) -> None:
        super().__init__(options)
        self._seconds, self._out = seconds, out
        self._ticks: dict[str, list[float]] = {"starting": [], "running": []}
        self._keys: list[float] = []
        self._last = time.perf_counter()
        self._running_since: float | None = None

    def on_mount(self) -> None:  # Textual calls the base class's too
        self.set_interval(0.01, self._tick)

    def _tick(self) -> None:
        now = time.perf_counter()
        view = self._view
        running = view is not None and view.phase == "running"
        self._ticks["running" if running else "starting"].append(now - self._last)
        self._last = now
        if running and self._running_since is None:
            self._running_since, self._cpu_since = now, time.process_time()
        if self._running_since is not None and now - self._running_since > self._seconds:
            self._finish(now)

    def _finish(self, now: float) -> None:
        assert self._run is not None and self._running_since is not None
        result = {
            "gaps": {k: [1e3 * float(q) for q in _tail(v)] for k, v in self._ticks.items()},
            "walls": self._run.session.latency.recent(8192).tolist(),
            "cpu": (time.process_time() - self._cpu_since) / (now - self._running_since),
        }
        self._out.write_text(json.dumps(result))
        self._running_since = float("inf")
        self.exit()


def _tail(values: list[float]) -> tuple[float, float, float]:
    """Median, 99th percentile and longest gap."""
    return tuple(np.quantile(values or [0.0], [0.5, 0.99, 1.0]))


if __name__ == "__main__":
    path, how, seconds, out = sys.argv[1:]
    entry = load(Path(path))
    if how == "in-process":
        take_output()
    Timed(Options([entry], entry, in_process=how == "in-process"), float(seconds), Path(out)).run()
