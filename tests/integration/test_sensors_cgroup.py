"""Control groups: real ones where this machine lets us make one, else copies of the kernel's files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_sensors_host import MIB, SLEEP, SPIN, linux, running, until

from tfslowtop.sensors.cgroup import (
    Cgroup,
    CgroupReading,
    Mount,
    levels,
    parse_membership,
    parse_mounts,
    stalled,
)
from tfslowtop.sensors.gauges import GaugeMaker
from tfslowtop.sensors.host import HostSensor


@contextmanager
def group(controller: str, **settings: object) -> Iterator[Path]:
    """A control group below our own, of version 2 if no controller is named; or a skip that says why not."""
    mounts = parse_mounts(Path("/proc/self/mountinfo").read_text())
    member = parse_membership(Path("/proc/self/cgroup").read_text())
    fitting = [m for m in mounts if (controller in m.controllers if controller else m.version == 2)]
    places = [levels(mount, member[controller]) for mount in fitting if controller in member]
    if not places or not places[0]:
        kind = f"version 1 cgroup with the {controller} controller" if controller else "version 2 cgroup"
        pytest.skip(f"no {kind} on this machine")
    folder = Path(places[0][0]) / f"tfslowtop-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"may not make a cgroup here: {error}")
    try:
        for name, value in settings.items():
            try:
                (folder / f"{controller}.{name}").write_text(str(value))
            except OSError as error:
                pytest.skip(f"may not limit a cgroup here: {error}")
        yield folder
    finally:
        for _ in range(50):
            try:
                folder.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def join(folder: Path) -> str:
    return f"import os; open({str(folder / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"


@linux
def test_a_real_cpu_quota():
    with (
        group("cpu", cfs_period_us=100_000, cfs_quota_us=5_000) as folder,
        running(join(folder) + SPIN) as process,
    ):
        sensor, gauges, found = HostSensor(process.pid), GaugeMaker(), {}
        # A twentieth of a core, so that it runs out of it on a busy machine too.
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found.update({each.name: each.value for each in gauges.host(sensor.read())})
            if found.get("cgroup.cpu.throttled", 0) > 50 and found["cgroup.cpu.waited"] > 0.2:
                break
            time.sleep(0.1)
        assert found["cgroup.cpu.quota"] == pytest.approx(0.05)
        assert found["cgroup.cpu.throttled"] > 50
        assert found["cgroup.cpu.waited"] > 0.2
        reading = sensor.read()
        assert reading.cgroup.throttled_periods and reading.cgroup.throttled_seconds


@linux
def test_a_real_memory_limit():
    code = f"m = b'x' * (24 << 20)\n{SLEEP}"
    with group("memory", limit_in_bytes=64 * MIB) as folder, running(join(folder) + code) as process:
        sensor = HostSensor(process.pid)
        reading = until(sensor.read, lambda reading: (reading.cgroup.memory or 0) > 20 * MIB)
        assert reading.cgroup.memory_limit == 64 * MIB
        assert reading.cgroup.memory_working and reading.cgroup.memory_working <= 64 * MIB
        assert reading.cgroup.limit_hits is not None


@linux
def test_a_real_group_of_version_2_has_pressure_of_its_own():
    """Two that spin on one core: one of them always waits."""
    core = min(os.sched_getaffinity(0))
    with group("") as folder:
        if not (folder / "cpu.pressure").exists():
            pytest.skip("this kernel does not tell the pressure of a group (PSI)")
        code = join(folder) + f"os.sched_setaffinity(0, {{{core}}})\n{SPIN}"
        with running(code) as process, running(code):
            sensor = HostSensor(process.pid)
            reading = until(
                sensor.read, lambda r: r.pressure.scope == "cgroup" and (r.pressure.cpu or 0) > 50
            )
            assert reading.pressure.cpu is not None and reading.pressure.cpu <= 105


@linux
def test_version_2_in_a_copy_of_its_files(tmp_path):
    """This machine may have version 1 only; the files are what a version 2 kernel shows."""
    proc, mount = tmp_path / "proc", tmp_path / "my cgroup"
    pod, leaf = mount / "pod", mount / "pod" / "box"
    leaf.mkdir(parents=True)
    for folder in (proc / "self", proc / "9"):
        folder.mkdir(parents=True)
    escaped = str(mount).replace(" ", "\\040")
    (proc / "self" / "mountinfo").write_text(f"30 23 0:26 / {escaped} rw - cgroup2 cgroup2 rw,nsdelegate\n")
    (proc / "9" / "cgroup").write_text("0::/pod/box\n")
    (pod / "cpu.max").write_text("150000 100000\n")
    (pod / "cpu.stat").write_text("usage_usec 9\nnr_periods 40\nnr_throttled 10\nthrottled_usec 2500000\n")
    (leaf / "cpu.max").write_text("max 100000\n")
    (pod / "memory.max").write_text("max\n")
    (leaf / "memory.max").write_text("1000\n")
    (leaf / "memory.high").write_text("800\n")
    (leaf / "memory.current").write_text("700\n")
    (leaf / "memory.stat").write_text(
        "inactive_file 250\nworkingset_refault_anon 1\nworkingset_refault_file 5\n"
    )
    (leaf / "memory.events").write_text("low 0\nhigh 4\nmax 3\noom 0\n")
    (leaf / "cgroup.type").write_text("domain\n")
    (leaf / "cpu.pressure").write_text("some avg10=12.50 avg60=1.00 avg300=0.00 total=9000000\n")
    cgroup = Cgroup(9, proc)
    cgroup.look(0.0)
    assert cgroup.read() == CgroupReading(1.5, 40, 10, 2.5, 800, 700, 450, 7, 6)
    assert cgroup.pressure == str(leaf)
    assert stalled("cpu", cgroup.pressure, proc) == 9.0 and stalled("io", cgroup.pressure, proc) is None


def test_where_groups_are():
    mount = Mount(1, frozenset({"cpu"}), "/docker/abc", "/nowhere")
    assert levels(mount, "/docker/abc/x") == ()
    host = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\nnonsense\n"
    assert parse_mounts(host)[0].controllers == {"rw", "memory"}
    assert parse_membership("4:cpu,cpuacct:/a:b\n0::/\nx\n") == {"cpu": "/a:b", "cpuacct": "/a:b", "": "/"}


def test_a_group_above_our_namespace_is_the_mount(tmp_path):
    mount = Mount(2, frozenset(), "/", str(tmp_path))
    assert levels(mount, "/../../other") == (str(tmp_path),)
