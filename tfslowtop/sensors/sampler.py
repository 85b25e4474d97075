"""The threads that read the host ten times a second and the GPUs twice, within a budget of CPU time.

Each has its own thread: a driver in trouble can block a call for many seconds, and the host's figures, which
matter most then, must continue. Both are daemons and no reading can end them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ..agent.protocol.events import Gauge
from ..agent.protocol.names import GAUGE_SENSOR_GPU, GAUGE_SENSOR_HOST, GaugeName
from .gauges import GaugeMaker
from .gpu import GpuReading, GpuSensor
from .host import HostReading, HostSensor
from .pace import Budget

#: Of one core, for each of the two threads: together under 1 %.
HOST_SHARE, GPU_SHARE = 0.006, 0.0035


class Sampler:
    """Reads `pid` until `stop`. `on_gauges` gets what is new, from either thread but never from both at once.

    `host` and `gpu` are the latest complete readings, None before the first. `trouble` is the last error that
    a reading or the callback raised.
    """

    def __init__(
        self,
        pid: int,
        on_gauges: Callable[[Sequence[Gauge]], None] | None = None,
        *,
        host_hz: float = 10.0,
        gpu_hz: float = 2.0,
        visible: str | None = None,
        order: str | None = None,
        host_share: float = HOST_SHARE,
        gpu_share: float = GPU_SHARE,
    ) -> None:
        self.host: HostReading | None = None
        self.gpu: GpuReading | None = None
        self.trouble: Exception | None = None
        self._on_gauges = on_gauges
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._sensor = HostSensor(pid)
        self._gpus = GpuSensor(visible, order)
        self._host_gauges, self._gpu_gauges = GaugeMaker(), GaugeMaker()
        self._threads = [
            threading.Thread(target=target, name=f"tfslowtop-{name}", daemon=True)
            for name, target in (
                (
                    "host",
                    lambda: self._loop(self._read_host, _Pace(GAUGE_SENSOR_HOST, 1 / host_hz, host_share)),
                ),
                ("gpu", lambda: self._loop(self._read_gpu, _Pace(GAUGE_SENSOR_GPU, 1 / gpu_hz, gpu_share))),
            )
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """End both threads; wait `timeout` at most, since a call into the driver cannot be interrupted."""
        self._stopped.set()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def shown(self, visible: str | None, order: str | None) -> None:
        """Use the target's own CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER from now on."""
        self._gpus.visible, self._gpus.order = visible, order

    def _read_host(self) -> list[Gauge]:
        self.host = reading = self._sensor.read()
        return self._host_gauges.host(reading)

    def _read_gpu(self) -> list[Gauge]:
        host, pid = self.host, self._sensor.pid
        family = host.children.pids if host is not None and host.pid == pid else ()
        self.gpu = reading = self._gpus.read((pid, *family))
        return self._gpu_gauges.gpu(reading)

    def _loop(self, read: Callable[[], list[Gauge]], pace: _Pace) -> None:
        while not self._stopped.is_set():
            pace.begin()
            gauges: list[Gauge] = []
            try:
                gauges = read()
            except Exception as error:
                self.trouble = error
            pause, cost = pace.end()
            self._hand_over(gauges + cost)
            self._stopped.wait(pause)
        if read == self._read_gpu:
            self._gpus.close()

    def _hand_over(self, gauges: list[Gauge]) -> None:
        if not gauges or self._on_gauges is None:
            return
        with self._lock:
            if self._stopped.is_set():
                return
            try:
                self._on_gauges(gauges)
            except Exception as error:
                self.trouble = error


class _Pace:
    """When the next reading of one thread is due, and what recent readings have cost."""

    def __init__(self, cost: GaugeName, interval: float, share: float) -> None:
        self._cost, self._interval = cost, interval
        now = time.perf_counter()
        self._due = now
        self._budget = Budget(share, now)
        self._first = True
        self._used = 0.0
        self._since, self._sum = now, 0.0

    def begin(self) -> None:
        self._used = time.thread_time()

    def end(self) -> tuple[float, list[Gauge]]:
        """Return how long to pause, and once a second the gauge of our own cost."""
        now, spent = time.perf_counter(), time.thread_time() - self._used
        wait = 0.0
        if self._first:
            # Imports and finding the devices happen once; counted, they would delay the first readings by
            # seconds.
            self._first = False
        else:
            wait = self._budget.wait(now, spent)
            self._sum += spent
        # Late readings are skipped, not made up for.
        self._due = max(self._due + self._interval, now + wait)
        cost: list[Gauge] = []
        elapsed = now - self._since
        if elapsed >= 1.0:
            cost = [Gauge(self._cost, time.perf_counter_ns(), 100.0 * self._sum / elapsed)]
            self._since, self._sum = now, 0.0
        return max(0.0, self._due - now), cost
