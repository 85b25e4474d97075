"""Problems of the machine, in scripted readings.

They are reported within 5 s, while they last, and afterwards if they cost much. The real sensors are
tested in test_machine_for_real.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from test_diagnosis import facts, traced

from tfslowtop.agent.protocol.events import SAMPLE, Ended, Gauge, Phase, Samples, StepChosen, Stream
from tfslowtop.diagnosis.conditions import by_device
from tfslowtop.diagnosis.engine import diagnose
from tfslowtop.diagnosis.facts import gather
from tfslowtop.diagnosis.finding import Finding
from tfslowtop.diagnosis.machine_episodes import MachineEpisode
from tfslowtop.state.session import Session
from tfslowtop.state.view import Gpu

SECOND = 1_000_000_000
BEGIN = 1_000 * SECOND
#: At which the scripted runs begin.
HALF_PAST = 1_800_000_000 * SECOND
HEAT, CAP = 0x40, 0x4
GIB = 2**30

HOST = {
    "rss": 5e8, "cpu": 95.0, "children.cpu": 0.0, "cpu.wait": 1.0, "cpu.allowed": 4.0, "machine.cpus": 4.0,
    "machine.others": 10.0, "swap": 0.0, "faults.major": 0.0, "pressure.memory": 0.0,
    "cgroup.cpu.quota": 2.0, "cgroup.cpu.throttled": 0.0, "cgroup.cpu.waited": 0.0,
    "cgroup.memory": 3.9e9, "cgroup.memory.working": 2e9, "cgroup.memory.limit": 4e9,
    "cgroup.memory.hits": 0.0, "cgroup.memory.refaults": 0.0,
}  # fmt: skip
DEVICE = {
    "memory": 70.0 * GIB, "memory.total": 80.0 * GIB, "memory.own": 70.0 * GIB, "memory.others": 0.0,
    "utilisation": 97.0, "utilisation.own": 97.0, "utilisation.others": 0.0, "clock": 1980.0,
    "clock.max": 1980.0, "throttle": 0.0, "temperature": 71.0, "power": 650.0, "power.limit": 700.0,
    "lost": 0.0,
}  # fmt: skip
CALM = HOST | {f"gpu.{n}.{name}": value for n in (0, 1) for name, value in DEVICE.items()}

TROUBLE: dict[str, dict[str, float]] = {
    "cpu-contention": {"cpu.wait": 60.0, "machine.others": 320.0},
    "cpu-throttled": {"cgroup.cpu.throttled": 80.0, "cgroup.cpu.waited": 1.5},
    "memory-pressure": {"swap": 2e9, "faults.major": 400.0, "pressure.memory": 40.0},
    "gpu-throttled": {"gpu.1.clock": 1200.0, "gpu.1.throttle": HEAT, "gpu.1.temperature": 91.0},
    "gpu-contention": {"gpu.1.utilisation.others": 60.0, "gpu.1.utilisation.own": 37.0},
    "gpu-memory-full": {"gpu.1.memory": 79.5 * GIB, "gpu.1.memory.others": 30.0 * GIB},
}

#: What is done to the program at a second: its readings, and what a step takes.
Plan = Callable[[float], tuple[dict[str, float], float]]


def of_day(second: float) -> str:
    return time.strftime("%H:%M", time.localtime(HALF_PAST / 1e9 + second))


class Run:
    """A loop of steps and sensor readings, without waiting; diagnosed once a second."""

    def __init__(self, plan: Plan, gpus: tuple[Gpu, ...] = (), every: float = 0.25) -> None:
        self.session = Session()
        self.session.clock = HALF_PAST - BEGIN
        self.session.feed(
            [
                Phase("running", "", BEGIN),
                Stream(1, "loop", "loop", "/u/train.py", 9),
                StepChosen(1, "", BEGIN),
            ]
        )
        self.second = 0.0
        self.found: tuple[Finding, ...] = ()
        self._plan, self._gpus, self._every = plan, gpus, every
        self._steps, self._due = 0, 0.0

    def to(self, second: float) -> Run:
        while self.second < second:
            self.second += self._every
            readings, step = self._plan(self.second)
            at = BEGIN + int(self.second * SECOND)
            records = []
            while self._due + step <= self.second:
                records.append(SAMPLE.pack(BEGIN + int(self._due * SECOND), int(step * SECOND), 0))
                self._due += step
            if records:
                self.session.feed([Samples(1, self._steps, b"".join(records))])
                self._steps += len(records)
            # What `Session.sense` does with them, without the curves.
            self.session.machine_episodes.add(at, readings, self._gpus)
        self.found = diagnose(gather(self.session, BEGIN + int(self.second * SECOND)))
        return self

    def until(self, cause: str, second: float) -> Finding:
        """The first finding of that kind, at the latest by `second`."""
        while self.second < second:
            self.to(self.second + 1)
            if self.causes == [cause]:
                return self.found[0]
        raise AssertionError(f"by {second} s only {self.causes}")

    @property
    def causes(self) -> list[str]:
        return [f.cause for f in self.found]


def trouble(cause: str, begin: float, end: float = 1e9, calm: float = 0.021, slow: float = 0.034) -> Plan:
    def plan(second: float) -> tuple[dict[str, float], float]:
        there = begin <= second < end
        return CALM | (TROUBLE[cause] if there else {}), slow if there else calm

    return plan


SENTENCES = {
    "cpu-contention": "when other processes went from 0.1 to 3.2 of 4 cores: the program waits for a CPU "
    "core 60 % of the time.",
    "cpu-throttled": "when the container began to hit its limit of 2 cores in 80 % of the scheduling "
    "periods.",
    "memory-pressure": "when memory ran short (3.9 GB of the 4 GB limit in use, 2 GB swapped out, "
    "400 pages per second read back from disk, tasks waiting for memory 40 % of the time).",
    "gpu-throttled": "when GPU 1's clock fell from 1,980 to 1,200 MHz (heat, 91 °C).",
    "gpu-contention": "when other processes went from 0 to 60 % of GPU 1's time.",
    "gpu-memory-full": "when GPU 1's memory filled up (79.5 of 80.0 GiB, 30.0 GiB of it used by other "
    "processes).",
}


@pytest.mark.parametrize("cause", TROUBLE)
def test_trouble_in_the_middle_of_a_run(cause):
    run = Run(trouble(cause, 20, 85)).to(20)
    assert run.causes == []
    found = run.until(cause, 25)
    assert found.sentence == f"Steps went from 21 to 34 ms at {of_day(20)} {SENTENCES[cause]}"
    assert found.confidence == "high" and abs(found.since_step - 20 / 0.021) < 50
    run.to(85)
    assert run.found[0].sentence == found.sentence
    assert run.found[0].evidence["lasting"]
    assert run.found[0].cost_seconds == pytest.approx(65 * (1 - 21 / 34), rel=0.05)
    run.to(90)
    assert run.causes == [cause] and not run.found[0].evidence["lasting"]
    assert f" from {of_day(20)} to {of_day(85)} when " in run.found[0].sentence


@pytest.mark.parametrize("cause", TROUBLE)
def test_trouble_from_the_start_has_no_beginning(cause):
    found = Run(trouble(cause, 0)).until(cause, 6)
    assert "went" not in found.sentence and "fell" not in found.sentence and ":" not in found.sentence[-12:]
    assert of_day(0) not in found.sentence


def test_sentences_for_trouble_from_the_start():
    assert Run(trouble("gpu-throttled", 0)).until("gpu-throttled", 6).sentence == (
        "GPU 1's clock is held at 1,200 of 1,980 MHz (heat, 91 °C)."
    )
    run = Run(trouble("gpu-throttled", 0, 40)).to(60)
    assert run.found[0].sentence == (
        f"GPU 1's clock was held at 1,200 of 1,980 MHz (heat, 91 °C) until {of_day(40)}."
    )


def test_trouble_that_costs_nothing_is_reported_only_while_it_lasts():
    run = Run(trouble("gpu-throttled", 50, 100, slow=0.021))
    found = run.until("gpu-throttled", 55)
    assert found.sentence == (
        f"GPU 1's clock fell from 1,980 to 1,200 MHz (heat, 91 °C) at {of_day(50)}; steps still take 21 ms."
    )
    assert found.cost_seconds == pytest.approx(0.0, abs=0.01) and found.confidence == "medium"
    assert run.to(99).causes == ["gpu-throttled"]
    assert run.to(105).causes == []


def test_a_quota_that_was_not_there_before():
    """The readings that show it have no past."""

    def plan(second: float) -> tuple[dict[str, float], float]:
        readings, step = trouble("cpu-throttled", 20)(second)
        return {n: v for n, v in readings.items() if second >= 20 or not n.startswith("cgroup.cpu")}, step

    assert Run(plan).until("cpu-throttled", 25).sentence == (
        f"Steps went from 21 to 34 ms at {of_day(20)} {SENTENCES['cpu-throttled']}"
    )


@pytest.mark.parametrize(("begin", "reported"), [(97, []), (80, ["gpu-throttled"])])
def test_only_expensive_trouble_is_reported_after_the_end(begin, reported):
    run = Run(trouble("gpu-throttled", begin)).to(100)
    assert run.causes == ["gpu-throttled"]
    run.session.feed([Ended(0, "It ended.", BEGIN + 100 * SECOND)])
    assert run.to(101).causes == reported


def test_trouble_from_the_start_in_the_past_tense_after_the_end():
    run = Run(trouble("gpu-throttled", 0)).to(30)
    run.session.feed([Ended(0, "It ended.", BEGIN + 30 * SECOND)])
    assert run.to(31).found[0].sentence == "GPU 1's clock was held at 1,200 of 1,980 MHz (heat, 91 °C)."


def test_short_disturbances_are_not_reported():
    """One second in five, as on any machine."""

    def plan(second: float) -> tuple[dict[str, float], float]:
        there = second % 5 < 1
        return CALM | ({k: v for t in TROUBLE.values() for k, v in t.items()} if there else {}), 0.021

    run = Run(plan)
    while run.second < 120:
        assert run.to(run.second + 1).causes == [], run.second


def test_a_calm_machine():
    run = Run(lambda second: (CALM, 0.021))
    while run.second < 60:
        assert run.to(run.second + 1).causes == []


def test_trouble_after_hours_is_reported_as_soon_and_with_its_beginning():
    """A long run keeps few of its steps, and the trouble is a tiny share of its time."""
    run = Run(trouble("gpu-throttled", 3600), every=1.0).to(3600)
    found = run.until("gpu-throttled", 3605)
    assert found.sentence.startswith(f"Steps went from 21 to 34 ms at {of_day(3600)} when GPU 1's clock")
    assert found.share < 0.002
    assert run.to(4000).found[0].sentence == found.sentence


def test_repeated_trouble_is_counted():
    def plan(second: float) -> tuple[dict[str, float], float]:
        return trouble("gpu-contention", 30)(30 + second % 60 - 40)

    run = Run(plan).to(235)
    assert run.causes == ["gpu-contention"]
    assert f"at {of_day(220)} (4 times in all)" in run.found[0].sentence


def test_a_power_cap_is_normal_unless_it_was_lowered():
    capped = {"gpu.0.throttle": CAP, "gpu.0.clock": 1480.0, "gpu.0.power": 700.0}
    lowered = {"gpu.0.throttle": CAP, "gpu.0.clock": 900.0, "gpu.0.power.limit": 300.0}
    assert Run(lambda second: (CALM | capped, 0.021)).to(60).causes == []
    assert Run(lambda second: (CALM | lowered, 0.021)).to(60).causes == []
    run = Run(lambda second: (CALM | (lowered if second >= 40 else capped), 0.021 if second < 40 else 0.034))
    assert run.until("gpu-throttled", 45).sentence.endswith(
        "when GPU 0's clock fell from 1,480 to 900 MHz (power cap of 300 W, 71 °C)."
    )
    assert run.to(200).causes == ["gpu-throttled"]


def test_a_device_that_comes_back_has_not_become_slower():
    def plan(second: float) -> tuple[dict[str, float], float]:
        readings, step = trouble("gpu-throttled", 20)(second)
        return (readings | {"gpu.1.lost": 1.0} if 40 <= second < 50 else readings), step

    assert "fell" in Run(plan).to(39).found[0].sentence
    assert Run(plan).to(70).found[0].sentence.startswith("GPU 1's clock is held at 1,200 of 1,980 MHz")


def test_neighbours_that_were_there_before_the_program_needed_more():
    def plan(second: float) -> tuple[dict[str, float], float]:
        readings, step = trouble("cpu-contention", 20)(second)
        return readings | {"machine.others": 320.0}, step

    said = Run(plan).until("cpu-contention", 25).sentence
    assert "when the program needed more CPU while other processes used 3.2 of 4 cores: it waits" in said


def test_a_low_clock_of_an_idle_gpu_is_not_throttling():
    idle = {"gpu.0.clock": 300.0, "gpu.0.throttle": 1.0, "gpu.0.utilisation": 0.0}
    hot = idle | {"gpu.0.throttle": HEAT, "gpu.0.utilisation": 10.0}
    for readings in (idle, hot):
        assert Run(lambda second, readings=readings: (CALM | readings, 0.021)).to(30).causes == []


@pytest.mark.parametrize("cause", ["gpu-throttled", "gpu-contention", "gpu-memory-full"])
def test_a_gpu_that_the_program_does_not_use_is_not_its_trouble(cause):
    """One that others use, one that CUDA hides, and one that has fallen off the bus."""
    elsewhere = {
        "gpu.1.memory.own": 0.0,
        "gpu.1.utilisation.own": 0.0,
        "gpu.1.memory.others": 60e9,
        "gpu.1.utilisation.others": 97.0,
    }
    assert Run(lambda second: (CALM | TROUBLE[cause] | elsewhere, 0.021)).to(30).causes == []
    hidden = (Gpu("0", number=0, visible=True), Gpu("1", visible=False))
    assert Run(trouble(cause, 0), hidden).to(30).causes == []
    assert Run(lambda second: (CALM | TROUBLE[cause] | {"gpu.1.lost": 1.0}, 0.021)).to(30).causes == []


@pytest.mark.parametrize("cause", ["gpu-throttled", "gpu-contention"])
def test_gpus_without_usable_process_lists(cause):
    """In a container the driver's list of processes is useless: assume that the program uses the GPU."""
    unknown = ("memory.own", "memory.others", "utilisation.own")

    def plan(second: float) -> tuple[dict[str, float], float]:
        readings, step = trouble(cause, 20)(second)
        return {name: v for name, v in readings.items() if not name.endswith(unknown)}, step

    assert Run(plan).until(cause, 25)


def test_throttling_takes_precedence_over_contention():
    both = TROUBLE["cpu-contention"] | TROUBLE["cpu-throttled"]
    assert Run(lambda second: (CALM | both, 0.021)).to(30).causes == ["cpu-throttled"]


def test_threads_of_the_program_are_not_contention():
    own = {"cpu": 390.0, "cpu.wait": 60.0, "machine.others": 10.0}
    assert Run(lambda second: (CALM | own, 0.021)).to(30).causes == []
    # Two of 64 cores are all that it may use, and others are on them.
    pinned = {"cpu.allowed": 2.0, "machine.cpus": 64.0, "cpu.wait": 60.0, "machine.others": 200.0}
    assert Run(lambda second: (CALM | pinned, 0.021)).to(30).causes == ["cpu-contention"]


def test_a_memory_limit():
    full = {"cgroup.memory": 3.99e9, "cgroup.memory.working": 3.95e9}
    assert Run(lambda second: (CALM | full, 0.021)).to(30).causes == []
    # A data set that is read through the cache: the limit is met all the time, and nobody waits.
    cached = {"cgroup.memory": 3.99e9, "cgroup.memory.hits": 500.0, "pressure.memory": 3.0}
    assert Run(lambda second: (CALM | cached, 0.021)).to(30).causes == []
    # A first look at a mapped file.
    mapped = cached | {"faults.major": 900.0}
    assert Run(lambda second: (CALM | mapped, 0.021)).to(30).causes == []
    for more in (
        full | {"cgroup.memory.hits": 30.0},
        cached | {"pressure.memory": 60.0},
        mapped | {"cgroup.memory.refaults": 700.0},
    ):
        run = Run(lambda at, more=more: (CALM | more, 0.034) if at >= 20 else (CALM, 0.021))
        assert " ms at " in run.until("memory-pressure", 25).sentence
        assert "when memory ran short (3.99 GB of the 4 GB limit in use" in run.found[0].sentence


def test_tensorflows_own_pool():
    """The driver's figure never changes, because TensorFlow takes nearly all memory when it starts."""

    def plan(second: float) -> tuple[dict[str, float], float]:
        there = second >= 50
        readings, step = CALM, 0.034 if there else 0.021
        used = (69.5 if there else 30) * GIB
        pool = {"tf.gpu.0.memory": 20 * GIB, "tf.gpu.0.peak": used, "tf.gpu.0.limit": 70 * GIB}
        return readings | pool, step

    two = (Gpu("0", number=1, visible=True), Gpu("1", number=0, visible=True))
    assert Run(plan, two).until("gpu-memory-full", 55).sentence == (
        f"Steps went from 21 to 34 ms at {of_day(50)} when TensorFlow's memory on GPU 1 filled up "
        "(69.5 of 70.0 GiB at the peak)."
    )
    # Which of the driver's devices that is, is not always known.
    assert "on TensorFlow's GPU:0 filled up" in Run(plan).until("gpu-memory-full", 55).sentence
    assert Run(lambda second: plan(0), two).to(30).causes == []


def test_readings_by_device():
    readings = {
        "cpu": 1.0,
        "gpu.0.clock": 2.0,
        "gpu.0:1.clock": 3.0,
        "tf.gpu.0.memory": 4.0,
        "gpu.7.lost": 1.0,
    }
    assert by_device(readings, (Gpu("0"), Gpu("0:1", number=0, visible=True))) == {
        "": {"cpu": 1.0},
        "0": {"clock": 2.0},
        "0:1": {"clock": 3.0, "tf.memory": 4.0},
    }
    assert by_device({"tf.gpu.0.memory": 4.0}, (Gpu("0"),))["0"] == {"tf.memory": 4.0}
    assert by_device({"tf.gpu.0.memory": 4.0}, ())["TF 0"] == {"tf.memory": 4.0}


def test_the_session_takes_the_sensors_readings():
    """Only once there is a step, and only for the devices it knows."""
    run = Run(lambda second: ({}, 0.021))
    session = run.session
    session.know_gpus((Gpu("0"), Gpu("1", visible=False)), "")
    for half in range(10):
        if half == 4:
            run.to(2)
        at = BEGIN + half * SECOND // 2
        readings = CALM | TROUBLE["gpu-throttled"] | {"gpu.0.clock": 900.0, "gpu.0.throttle": HEAT}
        session.sense(Gauge(name, at, float(value)) for name, value in readings.items())
    (episode,) = session.machine_episodes.all()
    assert (episode.cause, episode.gpu) == ("gpu-throttled", "0") and episode.since >= BEGIN + 2 * SECOND


def test_findings_in_the_code_come_first():
    during = TROUBLE["cpu-contention"] | {"machine.cpus": 4.0}
    episode = MachineEpisode("cpu-contention", "", 0, 9 * SECOND, True, 5.4, False, {}, during)
    found = diagnose(facts(traced("retrace-shape", 90, 2.0), episodes=(episode,)))
    assert [f.cause for f in found] == ["retrace-shape", "cpu-contention"]
