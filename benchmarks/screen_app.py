"""The app with a stop-watch in it, run by bench_screen: it keeps the kernel's samples and, if asked, ticks.

python screen_app.py KERNEL child|in-process SECONDS OUT [ticks]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tfslowtop.agent.protocol.events import Event, Samples
from tfslowtop.catalogue.find import load
from tfslowtop.sources.inprocess import take_output
from tfslowtop.ui.scenario_app import Options, ScenarioApp


class Timed(ScenarioApp):
    """Measures from the first frame to the end of import and setup, and again while the kernel runs."""

    def __init__(self, options: Options, seconds: float, out: Path, ticks: bool) -> None:
        super().__init__(options)
        self._seconds, self._out = seconds, out
        # A hundred ticks a second are work too: where the kernel's latency is measured, they are left out.
        self._every = 0.01 if ticks else 0.5
        self._ticks: dict[str, list[float]] = {"starting": [], "running": []}
        self._last = time.perf_counter()
        self._samples: list[bytes] = []
        self._running_since: float | None = None

    def on_mount(self) -> None:  # Textual calls the base class's too
        self.set_interval(self._every, self._tick)

    def _tick(self) -> None:
        now = time.perf_counter()
        view = self._view
        running = view is not None and view.phase == "running"
        self._ticks["running" if running else "starting"].append(now - self._last)
        self._last = now
        if running and self._running_since is None:
            self._running_since, self._cpu_since = now, time.process_time()
            self._keep_samples()
            self._out.with_suffix(".running").touch()
        if self._running_since is not None and now - self._running_since > self._seconds:
            self._finish(now)

    def _keep_samples(self) -> None:
        assert self._run is not None
        feed = self._run.session.feed

        def keeping(events: Iterable[Event]) -> None:
            events = list(events)
            self._samples += (e.packed for e in events if isinstance(e, Samples))
            feed(events)

        self._run.session.feed = keeping  # type: ignore[method-assign]

    def _finish(self, now: float) -> None:
        assert self._running_since is not None
        result = {
            "gaps": {k: [1e3 * float(q) for q in _tail(v)] for k, v in self._ticks.items()},
            "cpu": (time.process_time() - self._cpu_since) / (now - self._running_since),
        }
        np.save(self._out.with_suffix(".npy"), np.frombuffer(b"".join(self._samples), "<i8").reshape(-1, 3))
        self._out.write_text(json.dumps(result))
        self._running_since = float("inf")
        self.exit()


def _tail(values: list[float]) -> tuple[float, float, float]:
    """Median, 99th percentile and longest gap."""
    return tuple(np.quantile(values or [0.0], [0.5, 0.99, 1.0]))


if __name__ == "__main__":
    path, how, seconds, out = sys.argv[1:5]
    entry = load(Path(path))
    if how == "in-process":
        take_output()
    options = Options([entry], entry, in_process=how == "in-process")
    Timed(options, float(seconds), Path(out), "ticks" in sys.argv[5:]).run()
