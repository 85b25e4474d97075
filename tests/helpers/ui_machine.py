"""A sampler that plays a script of readings, made into gauges by the real thing: for the machine's screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import ui_source
from ui_source import BEGIN, SECOND, Script

from tfslowtop.agent.protocol.events import Gauge
from tfslowtop.sensors.cgroup import CgroupReading
from tfslowtop.sensors.gauges import GaugeMaker
from tfslowtop.sensors.gpu import GpuDevice, GpuReading
from tfslowtop.sensors.host import ChildrenReading, HostReading, MachineReading, PressureReading
from tfslowtop.sensors.procfs import ProcessReading
from tfslowtop.ui.scenario_app import ScenarioApp

GIB = 2**30
HEAT = 0x40
#: Seconds of the script.
SECONDS = 60


class Watched(Script):
    """The scripted run, with a process around it."""

    @property
    def pid(self) -> int | None:
        return 4242


def gpu(number: int, **values: object) -> GpuDevice:
    usual: dict[str, object] = {
        "label": str(number),
        "index": number,
        "name": "NVIDIA Stand-in 80GB",
        "cuda_number": number,
        "visible": True,
        "memory_used": 2.0 * GIB,
        "memory_total": 80.0 * GIB,
        "memory_own": 0.0,
        "memory_others": 0.0,
        "utilisation": 0.0,
        "utilisation_own": 0.0,
        "utilisation_others": 0.0,
        "clock": 345.0,
        "clock_max": 1980.0,
        "throttle": 1,
        "temperature": 38.0,
        "power": 71.0,
        "power_limit": 700.0,
        "pcie_rx": 0.0,
        "pcie_tx": 0.0,
    }
    return GpuDevice(**(usual | values))  # type: ignore[arg-type]


def hot(second: int) -> GpuDevice:
    """Works, and in the second half its clock is held down by heat."""
    throttled = second >= SECONDS // 2
    return gpu(
        0,
        memory_used=(10.0 + second) * GIB,
        memory_own=(10.0 + second) * GIB,
        utilisation=97.0,
        utilisation_own=97.0,
        clock=1200.0 if throttled else 1980.0,
        throttle=HEAT if throttled else 0,
        temperature=91.0 if throttled else 70.0 + second / 5,
        power=612.0,
        pcie_rx=2.1e9,
        pcie_tx=1.3e8,
    )


def shared(second: int) -> GpuDevice:
    """Another process is on it, and the driver does not tell everything."""
    return gpu(
        1,
        memory_used=31.0 * GIB,
        memory_own=1.0 * GIB,
        memory_others=30.0 * GIB,
        utilisation=88.0,
        utilisation_own=20.0,
        utilisation_others=68.0,
        clock=1980.0,
        throttle=0,
        power=None,
        pcie_rx=None,
        pcie_tx=None,
    )


def host(second: int) -> HostReading:
    busy = second >= SECONDS // 2
    return HostReading(
        0,
        4242,
        ProcessReading(
            "running",
            rss=4e8 + 1e6 * second,
            uss=3.5e8,
            swap=0.0,
            cpu=150.0 if not busy else 80.0,
            cpu_wait=60.0 if busy else 5.0,
            cpus_allowed=8.0,
            threads=34.0,
            switches_voluntary=120.0 * second,
            switches_involuntary=9.0 * second,
            faults_minor=1_200.0 * second,
            faults_major=0.0,
            disk_read=2e6 * second,
        ),
        ChildrenReading((4243, 4244), rss=2e8, cpu=20.0),
        MachineReading(
            cpus=8.0,
            cpu=300.0 if not busy else 780.0,
            others=130.0 if not busy else 680.0,
            steal=0.0,
            load=7.4,
            memory_available=12e9,
            swap_used=1e8,
        ),
        PressureReading(cpu=12.0, memory=0.0, io=3.0),
        CgroupReading(
            cpu_quota=1.5,
            periods=10.0 * second,
            throttled_periods=4.0 * second,
            throttled_seconds=0.3 * second,
            memory_limit=4e9,
            memory=3.5e9,
            memory_working=3.1e9,
            limit_hits=0.0,
        ),
    )


Devices = Callable[[int], Sequence[GpuDevice]]
NONE: Devices = lambda second: ()  # noqa: E731
TWO: Devices = lambda second: (hot(second), shared(second))  # noqa: E731
EIGHT: Devices = lambda second: (hot(second), shared(second), *map(gpu, range(2, 8)))  # noqa: E731


def sampler(devices: Devices, reason: str | None = None, hosts: Callable[[int], HostReading] = host) -> type:
    """Takes the place of the real one: says a minute of readings at its start, more when told to."""

    class Played:
        last: Played

        def __init__(self, pid: int, on_gauges: Callable[[Sequence[Gauge]], None], **options: object) -> None:
            self.host: HostReading | None = None
            self.gpu: GpuReading | None = None
            self.trouble: Exception | None = None
            self.options = options
            self._say = on_gauges
            self._host, self._gpu = GaugeMaker(), GaugeMaker()
            self._second = 0
            Played.last = self

        def start(self) -> None:
            for _ in range(SECONDS):
                self.tell(devices(self._second), reason)

        def tell(self, found: Sequence[GpuDevice], reason: str | None = None) -> None:
            """One more second."""
            at = BEGIN + self._second * SECOND
            now = hosts(self._second)
            self.host = HostReading(
                at, now.pid, now.process, now.children, now.machine, now.pressure, now.cgroup
            )
            self.gpu = GpuReading(at, tuple(found), reason)
            cost = [Gauge("sensor.host", at, 0.41), Gauge("sensor.gpu", at, 0.12)]
            self._say([*self._host.host(self.host), *self._gpu.gpu(self.gpu), *cost])
            self._second += 1

        def shown(self, visible: str | None, order: str | None) -> None:
            pass

        def stop(self, timeout: float = 1.0) -> None:
            pass

    return Played


def app(
    folder: Path, monkeypatch: pytest.MonkeyPatch, played: type, **options: object
) -> tuple[ScenarioApp, Script]:
    script = Watched()
    ui_source.freeze(monkeypatch, script)
    monkeypatch.setattr("tfslowtop.run.Sampler", played)
    monkeypatch.setattr("tfslowtop.ui.screens.machine._EVERY", 0.0)
    return ui_source.app(folder, script, **options), script
