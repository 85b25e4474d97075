"""Gauges from readings, and the threads that keep reading within their budget."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable

import pytest
from test_sensors_host import SPIN, running

from tfslowtop.agent.protocol.events import Gauge
from tfslowtop.sensors import gauges as gauge_table
from tfslowtop.sensors.cgroup import CgroupReading
from tfslowtop.sensors.gauges import GaugeMaker
from tfslowtop.sensors.gpu import GpuReading
from tfslowtop.sensors.host import ChildrenReading, HostReading, HostSensor, MachineReading, PressureReading
from tfslowtop.sensors.pace import Backoff, Budget, Paced
from tfslowtop.sensors.procfs import ProcessReading
from tfslowtop.sensors.sampler import Sampler


def test_pacing():
    paced = Paced(5.0, 0.01)
    assert paced.due(0)
    paced.done(0, 0.001)
    assert not paced.due(4.9) and paced.due(5)
    paced.done(5, 1.0)
    assert not paced.due(104) and paced.due(105)


def test_budget_saves_up_but_not_for_ever():
    budget = Budget(0.01, now=0.0, burst=10.0)
    assert budget.wait(100.0, 0.09) == 0  # ten seconds' savings are 0.1 s
    assert budget.wait(100.0, 0.02) == pytest.approx(1.0)
    assert budget.wait(101.0, 0.0) == pytest.approx(0.0)


def test_backoff():
    backoff = Backoff(1, 3)
    waits = []
    for _ in range(4):
        backoff.failed(0)
        waits.append(next(n for n in range(10) if backoff.due(n)))
    assert waits == [1, 2, 3, 3]
    backoff.worked()
    assert backoff.due(0)


def reading(at: float, **values: object) -> HostReading:
    return HostReading(int(at * 1e9), 1, ProcessReading("running", **values))  # type: ignore[arg-type]


def test_rates_are_over_a_second():
    gauges = GaugeMaker()
    for n in range(21):
        found = gauges.host(
            reading(n / 10, faults_minor=float(n * 10 if n < 10 else 100 + (n - 10) * 50), rss=7.0)
        )
    assert next(each.value for each in found if each.name == "faults.minor") == pytest.approx(500, rel=0.05)


def test_what_does_not_change_is_repeated_once_a_second():
    gauges = GaugeMaker()
    found = [
        each for n in range(31) for each in gauges.host(reading(n / 10, rss=7.0, uss=None, threads=float(n)))
    ]
    assert sum(each.name == "rss" for each in found) == 4
    assert sum(each.name == "threads" for each in found) == 31
    assert not any(each.name == "uss" for each in found)


def test_the_table_names_every_gauge():
    full = HostReading(
        2_000_000_000,
        1,
        ProcessReading("running", *[1.0] * 15),
        ChildrenReading((2,), 1.0, 1.0),
        MachineReading(*[1.0] * 7),
        PressureReading("machine", 1.0, 1.0, 1.0),
        CgroupReading(*[1.0] * 9),
    )
    gauges = GaugeMaker()
    gauges.host(HostReading(0, 1, full.process, cgroup=full.cgroup))
    names = {each.name for each in gauges.host(full)}
    table = [
        line.split("|")[1].strip()
        for line in (gauge_table.__doc__ or "").splitlines()
        if line.startswith("| ")
    ]
    documented: set[str] = set()
    for cell in table:
        first, *more = re.split(r",\s*", cell)
        documented |= {
            first,
            *(each if not each.startswith(".") else first.split(".")[0] + each for each in more),
        }
    assert names <= documented, names - documented


def wait_for(wanted: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_sampler_survives_its_target():
    got: list[Gauge] = []
    with running(SPIN) as target:
        sampler = Sampler(target.pid, got.extend)
        sampler.start()
        try:
            wait_for(lambda: sum(each.name == "cpu" for each in got) >= 8)
            wait_for(lambda: isinstance(sampler.gpu, GpuReading))
            assert sampler.host and sampler.host.state == "running"
            target.kill()
            target.wait()
            wait_for(lambda: sampler.host and sampler.host.state == "gone")
        finally:
            begun = time.perf_counter()
            sampler.stop()
        assert time.perf_counter() - begun < 0.9
        count = len(got)
        time.sleep(0.3)
        assert len(got) == count and sampler.trouble is None
    for name in {each.name for each in got}:
        times = [each.at for each in got if each.name == name]
        assert all(earlier < later for earlier, later in itertools.pairwise(times))


def test_a_callback_that_raises_is_told_and_does_not_end_it():
    calls = []

    def fail(gauges):
        calls.append(len(gauges))
        raise ValueError("mine")

    sampler = Sampler(os.getpid(), fail)
    sampler.start()
    wait_for(lambda: len(calls) > 2)
    sampler.stop()
    assert isinstance(sampler.trouble, ValueError)


def test_a_slow_reading_is_taken_less_often(monkeypatch):
    reads = []

    def slow(self):
        reads.append(1)
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        return HostReading(time.perf_counter_ns(), self.pid, "running")

    monkeypatch.setattr(HostSensor, "read", slow)
    sampler = Sampler(os.getpid(), host_share=0.01)
    sampler.start()
    time.sleep(2.5)
    sampler.stop()
    # 20 ms each, with savings of 100 ms: the first, five or six more, then one every two seconds.
    assert 3 <= len(reads) <= 9
