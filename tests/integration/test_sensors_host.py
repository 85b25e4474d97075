"""The host sensor on real processes: they spin, sleep, fork, stop, die and come back as others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tfslowtop.sensors.host import PROC, ChildrenReading, HostReading, HostSensor
from tfslowtop.sensors.procfs import LinuxProcess, ProcessReading, children_of, number_after, slurp

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
SPIN = "while True: sum(range(1000))"
SLEEP = "import time; time.sleep(60)"
MIB = 2**20


@contextmanager
def running(code: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        # The whole session: some of them have children.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait(60)


def until(
    read: Callable[[], HostReading], wanted: Callable[[HostReading], bool], seconds: float = 60
) -> HostReading:
    end = time.monotonic() + seconds
    while True:
        reading = read()
        if wanted(reading):
            return reading
        assert time.monotonic() < end, reading
        time.sleep(0.1)


@pytest.fixture(params=[pytest.param(PROC, id="proc"), pytest.param(None, id="psutil")])
def proc(request: pytest.FixtureRequest) -> Path | None:
    return request.param  # type: ignore[no-any-return]


def test_a_busy_process(proc):
    with running(SPIN) as process:
        sensor = HostSensor(process.pid, proc)
        reading = until(sensor.read, lambda r: (r.process.cpu or 0) > 10 and r.machine.others is not None)
    mine = reading.process
    assert reading.state == "running" and reading.pid == process.pid
    assert mine.cpu is not None and mine.cpu < 130
    assert mine.rss and mine.rss > MIB and mine.uss and mine.uss <= mine.rss
    assert mine.threads == 1 and mine.switches_involuntary is not None
    assert reading.machine.cpus == os.cpu_count()
    assert reading.machine.cpu is not None and reading.machine.cpu > 0
    if proc is not None:
        assert mine.faults_minor and mine.faults_major is not None and mine.swap is not None
        assert mine.cpu_wait is not None and mine.cpus_allowed


def test_stopped_continued_killed_and_waited_for(proc):
    with running(SPIN) as process:
        sensor = HostSensor(process.pid, proc)
        assert sensor.read().state == "running"
        os.kill(process.pid, signal.SIGSTOP)
        until(sensor.read, lambda reading: reading.state == "stopped")
        os.kill(process.pid, signal.SIGCONT)
        until(sensor.read, lambda reading: reading.state == "running")
        process.kill()
        zombie = until(sensor.read, lambda reading: reading.state == "zombie")
        assert zombie.process.uss is None or zombie.process.uss >= 0
        process.wait()
        gone = sensor.read()
    assert gone.state == "gone"
    assert (gone.process, gone.children) == (ProcessReading(), ChildrenReading())


def test_no_such_process(proc):
    with running("pass") as process:
        process.wait()
    assert HostSensor(process.pid, proc).read().state == "gone"


@linux
def test_a_pid_that_comes_back_as_another_process(tmp_path):
    """Pids are used again; the start time tells them apart."""
    (tmp_path / "77").mkdir()
    stat = tmp_path / "77" / "stat"
    line = "77 (a) b) c) S 1 77 77 0 -1 0 5 0 0 0 3 4 0 0 20 0 2 0 {born} 1000 25 " + "0 " * 20
    sensor = HostSensor(77, tmp_path)
    assert sensor.read().state == "gone"  # not started yet
    stat.write_text(line.format(born=100))
    reading = sensor.read()
    assert (reading.state, reading.process.threads) == ("sleeping", 2)
    assert reading.process.rss == 25 * os.sysconf("SC_PAGE_SIZE")
    assert reading.process.disk_read is None and reading.process.swap is None
    stat.write_text(line.format(born=200))
    assert sensor.read().state == "gone"
    # The same again after a read that failed, for want of file handles say: it was there all the time.
    stat.write_text(line.format(born=100))
    assert sensor.read().state == "sleeping"


@linux
@pytest.mark.parametrize("garbage", ["", "77", "77 (x", "77 (x) S", "77 (x) S " + "y " * 40])
def test_garbage_is_no_process(tmp_path, garbage):
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "stat").write_text(garbage)
    assert HostSensor(77, tmp_path).read().state == "gone"


FAMILY = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import subprocess, sys;"
    "subprocess.run([sys.executable, '-c', {SPIN!r}])"])
time.sleep(60)
"""


def test_children_and_what_is_left_for_others(proc):
    with running(FAMILY) as process:
        sensor = HostSensor(process.pid, proc)
        reading = until(sensor.read, lambda r: len(r.children.pids) == 2 and (r.children.cpu or 0) > 10)
        assert reading.children.rss and reading.children.rss > 2 * MIB
        assert reading.process.cpu is not None and reading.process.cpu < 20
        # The grandchild's work is not a neighbour's.
        assert reading.machine.others is not None and reading.machine.cpu is not None
        assert reading.machine.others < reading.machine.cpu - 5
        os.kill(reading.children.pids[-1], signal.SIGKILL)
        until(sensor.read, lambda reading: not reading.children.pids)


def test_a_fork_storm_between_two_reads(proc):
    storm = "import os\nwhile True:\n pid = os.fork()\n if not pid: os._exit(0)\n os.waitpid(pid, 0)"
    with running(storm) as process:
        sensor = HostSensor(process.pid, proc)
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            assert sensor.read().state in ("running", "sleeping")
            time.sleep(0.02)


def test_a_busy_neighbour(proc):
    with running(SLEEP) as process:
        sensor = HostSensor(process.pid, proc)
        with running(SPIN):
            reading = until(sensor.read, lambda reading: (reading.machine.others or 0) > 50)
        assert reading.process.cpu is not None and reading.process.cpu < 10


def test_a_machine_without_a_core_left_over_is_full(proc):
    with running(SLEEP) as process, ExitStack() as neighbours:
        sensor = HostSensor(process.pid, proc)
        assert not sensor.read().full, "nothing is known yet"
        for _ in range(os.cpu_count() or 1):
            neighbours.enter_context(running(SPIN))
        reading = until(sensor.read, lambda reading: reading.full)
        assert reading.machine.cpu > 85 * reading.machine.cpus


@linux
@pytest.mark.parametrize(
    "spin",
    [SPIN, f"import threading, time\ndef spin():\n {SPIN}\nthreading.Thread(target=spin).start()\n{SLEEP}"],
    ids=["the main thread", "another thread"],
)
def test_waiting_for_a_cpu_shows(spin):
    """Two that spin on one core: each is ready and waits about half of the time."""
    core = min(os.sched_getaffinity(0))
    pin = f"import os; os.sched_setaffinity(0, {{{core}}})\n"
    with running(pin + spin) as process, running(pin + SPIN):
        sensor = HostSensor(process.pid)
        reading = until(sensor.read, lambda r: (r.process.cpu_wait or 0) > 20)
        assert reading.process.cpus_allowed == 1 and (reading.process.cpu_wait or 0) <= 100


@linux
def test_page_faults_and_disk_reads_count(tmp_path):
    code = "import mmap, time\nwhile True:\n m = mmap.mmap(-1, 1 << 22); m[::4096] = b'x' * 1024; m.close()"
    with running(code) as process:
        sensor = HostSensor(process.pid)
        first = sensor.read().process.faults_minor
        assert first is not None
        until(sensor.read, lambda reading: (reading.process.faults_minor or 0) > first + 2000)


@linux
def test_children_by_the_kernels_list(tmp_path):
    for path, text in {
        "5/task/5": "6 ",
        "5/task/8": "7 ",
        "6/task/6": "9 ",
        "7/task/7": "",
        "9/task/9": "",
    }.items():
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "children").write_text(text)
    assert sorted(children_of(5, tmp_path) or ()) == [6, 7, 9]
    (tmp_path / "5/task/5/children").unlink()
    (tmp_path / "5/task/8/children").unlink()
    assert children_of(5, tmp_path) is None


def test_number_after():
    text = b"a:\t1\nab:  20 kB\nbad: x\nlast 3"
    assert number_after(b"a:", text) == 1 and number_after(b"ab:", text) == 20 * 1024
    assert number_after(b"bad:", text) is None and number_after(b"b:", text) is None
    assert number_after(b"last ", text) == 3 and number_after(b"a:", None) is None


@linux
def test_a_long_list_is_read_to_its_end():
    """/proc/self/maps of a process with numpy in it is longer than the page that one read gives."""
    with running(f"import numpy\n{SLEEP}") as process:
        path = f"/proc/{process.pid}/maps"
        deadline = time.monotonic() + 60
        while len(Path(path).read_bytes()) < 10_000 and time.monotonic() < deadline:
            time.sleep(0.1)
        whole, one = slurp(path, whole=True), slurp(path)
    assert whole and one and len(whole) > 10_000 > len(one)


@linux
def test_cpu_time_is_exact():
    """In steps of 10 ms, as /proc/<pid>/stat has it, a tenth of a second would be a tenth off."""
    before = LinuxProcess(os.getpid()).counters()
    own = time.process_time()
    after = LinuxProcess(os.getpid()).counters()
    assert before and after and before.cpu_seconds and after.cpu_seconds
    assert before.cpu_seconds <= own <= after.cpu_seconds
