"""The machine's screen and the main screen's GPU panel: scripted readings, then the real sensors against a
stand-in for the driver's library. No real GPU has been on it: see tests/README.md."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nvml_stand_in as stand_in
import pytest
import ui_machine
from screens import text, until
from test_ui_snapshots import SIZES, settled
from ui_machine import BEGIN, EIGHT, GIB, HEAT, NONE, SECOND, TWO, gpu, hot, sampler, shared

from tfslowtop.agent.protocol.events import Gauge
from tfslowtop.sensors.nvml import NO_DRIVER, WENT_AWAY
from tfslowtop.sensors.visible import told_to
from tfslowtop.state.recent_readings import KEPT, Recent
from tfslowtop.state.session import Session
from tfslowtop.state.view import Gpu
from tfslowtop.ui.screens.machine import MachineScreen
from tfslowtop.ui.screens.main import MainScreen
from tfslowtop.ui.widgets.machine.gpus import gpu_rows, shown_gpu
from tfslowtop.ui.widgets.machine.meter_rows import MeterRow, spark, wrap, write_rows

BOXES = {
    "none": (sampler(NONE, NO_DRIVER), "driver"),
    "two": (sampler(TWO), "held down by heat"),
    "eight": (sampler(EIGHT), "held down by heat"),
}
ALLOCATOR = (
    Gauge("tf.gpu.0.memory", BEGIN + 10 * SECOND, 3.2 * GIB),
    Gauge("tf.gpu.0.peak", BEGIN + 10 * SECOND, 5.0 * GIB),
)


async def opened(pilot, app) -> None:
    await until(pilot, lambda: app._view is not None and app._view.iterations == 600 and app._view.readings)
    await pilot.press("m")
    await until(pilot, lambda: isinstance(app.screen, MachineScreen) and "Machine" in text(app))


async def read_all(pilot, app) -> str:
    """The screen's lines, those below the edge included."""
    page = app.screen.query_one("#machine-page")
    page.scroll_home(animate=False)
    await pilot.pause()
    seen = text(app)
    while page.scroll_y < page.max_scroll_y:
        page.scroll_page_down(animate=False)
        await pilot.pause()
        seen += text(app)
    return seen


# How it looks


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("box", BOXES)
def test_machine_screen(box, size, tmp_path, monkeypatch, snap_compare):
    played, sign = BOXES[box]
    app, script = ui_machine.app(tmp_path, monkeypatch, played)
    if box != "none":
        script.put(*ALLOCATOR)

    async def before(pilot):
        await opened(pilot, app)
        await until(pilot, lambda: sign in text(app))
        await settled(pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)


def test_machine_screen_in_ascii(tmp_path, monkeypatch, snap_compare):
    app, _ = ui_machine.app(tmp_path, monkeypatch, sampler(TWO), ascii=True)

    async def before(pilot):
        await opened(pilot, app)
        await until(pilot, lambda: "held down by heat" in text(app))
        await settled(pilot)
        assert text(app).isascii()

    assert snap_compare(app, terminal_size=(80, 24), run_before=before)


# What it says


@pytest.mark.parametrize("size", SIZES)
async def test_everything_can_be_read_at_every_size(size, tmp_path, monkeypatch):
    app, script = ui_machine.app(tmp_path, monkeypatch, sampler(TWO))
    script.put(*ALLOCATOR)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app)
        await until(pilot, lambda: "GPU 0" in text(app))
        seen = " ".join((await read_all(pilot, app)).split())
        for words in ("69.0 / 80.0 GiB (86 %)", "this program 69.0 GiB", "others 30.0 GiB", "3.20 GiB in use",
                      "peak 5.00 GiB", "others 68 %", "1,200 of 1,980 MHz", "held down by heat", "91 °C",
                      "612 of 700 W", "NA of 700 W", "in 2.10 GB/s", "459 MB resident", "2 children 200 MB",
                      "by other processes", "page faults/s", "disks 3 % of the time", "used up in 40 % of",
                      "3.50 GB of 4.00 GB", "2.00 MB/s read", "0.41 % of a core"):  # fmt: skip
            assert words in seen, (words, seen)
        await pilot.press("escape")
        assert isinstance(app.screen, MainScreen)


async def test_without_a_gpu_one_line_says_why(tmp_path, monkeypatch):
    app, _ = ui_machine.app(tmp_path, monkeypatch, sampler(NONE, NO_DRIVER))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "GPU –" in text(app))
        await opened(pilot, app)
        await until(pilot, lambda: NO_DRIVER in text(app))
        lines = [line for line in text(app).splitlines() if "GPU" in line]
        assert len(lines) == 2 and "the GPUs 0.12 %" in lines[1], lines
        assert "rror" not in text(app)


async def test_the_main_panel_shows_the_device_that_the_target_uses(tmp_path, monkeypatch):
    used = gpu(5, memory_used=9.0 * GIB, memory_own=8.0 * GIB, utilisation=40.0, utilisation_own=40.0)
    busy = gpu(1, memory_used=70.0 * GIB, memory_others=70.0 * GIB, utilisation=100.0)
    played = sampler(lambda second: (gpu(0), busy, *(gpu(n) for n in (2, 3, 4)), used))
    app, _ = ui_machine.app(tmp_path, monkeypatch, played)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "GPU 5 of 6" in text(app))
        assert "9.00 / 80.0 GiB" in text(app)
        app.screen.query_one("#panel-gpu").focus()
        await pilot.press("enter")
        await until(pilot, lambda: "GPU 5 memory" in text(app))


async def test_a_device_falls_off_and_the_driver_goes_and_comes(tmp_path, monkeypatch):
    played = sampler(TWO)
    app, _ = ui_machine.app(tmp_path, monkeypatch, played)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await until(pilot, lambda: "held down by heat" in text(app))
        lost = gpu(0, lost=True, **dict.fromkeys(("memory_used", "clock", "temperature", "throttle")))
        played.last.tell((lost, shared(60)))
        await until(pilot, lambda: "fallen off the bus" in text(app))
        assert "held down" not in text(app) and "this program 1.00 GiB" in text(app)
        played.last.tell((), WENT_AWAY)
        await until(pilot, lambda: WENT_AWAY in text(app))
        assert "MHz" not in text(app)
        played.last.tell((hot(0), shared(62)))
        await until(pilot, lambda: "10.0 / 80.0 GiB" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "GPU 0 of 2" in text(app) and "10.0 / 80.0 GiB" in text(app))


def test_the_target_is_asked_which_devices_cuda_shows_it():
    command = [sys.executable, "-c", "input()"]
    environment = {"CUDA_VISIBLE_DEVICES": "1,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        assert told_to(process.pid) == ("1,0", "PCI_BUS_ID")
        process.communicate(b"\n")
    assert told_to(process.pid) == (None, None)


# The parts


def view_of(gauges: dict[str, float], gpus: tuple[Gpu, ...]):
    session = Session()
    session.sense([Gauge(name, SECOND, value) for name, value in gauges.items()])
    session.know_gpus(gpus, "")
    return session.view(2 * SECOND, 10, 1.0)


def test_the_shown_device_does_not_flicker():
    two = (Gpu("0"), Gpu("1"))
    close = {"gpu.0.utilisation": 50.0, "gpu.1.utilisation": 60.0}
    assert shown_gpu(view_of(close, two)) == "1"
    assert shown_gpu(view_of(close, two), "0") == "0"
    assert shown_gpu(view_of(close | {"gpu.1.utilisation": 90.0}, two), "0") == "1"
    assert shown_gpu(view_of(close | {"gpu.0.memory.own": 1.0}, two), "1") == "0"
    assert shown_gpu(view_of(close | {"gpu.1.lost": 1.0}, two), "1") == "0"
    assert shown_gpu(view_of(close, (Gpu("0", visible=True), Gpu("1", visible=False)))) == "0"
    assert shown_gpu(view_of(dict.fromkeys(("gpu.0.lost", "gpu.1.lost"), 1.0), two)) == "0"


def test_what_a_sensor_leaves_out_is_forgotten():
    recent, readings = Recent(), {}
    for second in range(20):
        new = [Gauge("gpu.0.clock", second * SECOND, 1980.0), Gauge("rss", second * SECOND, 1.0)]
        if second < 5:
            new.append(Gauge("gpu.0.power", second * SECOND, 90.0))
        readings.update({gauge.name: gauge.value for gauge in new})
        recent.add(new, readings)
        assert ("gpu.0.power" in readings) == (second < 15)
    # A driver that hangs says nothing at all, and what it said last stands.
    for second in range(20, 60):
        recent.add([Gauge("rss", second * SECOND, 1.0)], readings)
    assert readings["gpu.0.clock"] == 1980.0


def test_history_is_bounded_and_regular():
    recent, readings = Recent(), {}
    for n in range(10 * (KEPT + 50)):
        readings["cpu"] = float(n)
        recent.add([Gauge("cpu", n * SECOND // 10 + SECOND, float(n))], readings)
    history = recent.histories()["cpu"]
    assert len(history) == KEPT and {b - a for a, b in itertools.pairwise(history)} == {10.0}


def test_allocator_gauges_take_one_series_and_no_more():
    session = Session()
    session.feed(ALLOCATOR)
    assert list(session.gauges) == ["tf.gpu.0.memory"]
    assert session.view(12 * SECOND, 10, 1.0).readings["tf.gpu.0.peak"] == 5.0 * GIB


def test_the_pool_is_told_with_its_limit():
    gauges = {"gpu.0.memory": 78.0 * GIB, "gpu.0.memory.total": 80.0 * GIB, "gpu.0.memory.own": 78.0 * GIB}
    session = Session()
    session.sense([Gauge(name, SECOND, value) for name, value in gauges.items()])
    session.feed([*ALLOCATOR, Gauge("tf.gpu.0.limit", 11 * SECOND, 77.0 * GIB)])
    session.know_gpus((Gpu("0", number=0, visible=True),), "")
    rows = gpu_rows(session.view(12 * SECOND, 10, 1.0))
    assert ("3.20 GiB in use of a limit of 77.0 GiB", "peak 5.00 GiB") in [row.parts for row in rows]
    assert "tf.gpu.0.limit" not in session.gauges


def test_spark_and_wrap():
    assert spark([], 8, None, False) == ""
    assert spark([0.0, 60.0, 100.0], 3, 100.0, False) == "▁▄▇"
    assert spark([float("nan")] * 3, 3, None, True).strip() == ""
    assert len(spark(list(range(240)), 24, None, True)) == 24
    assert wrap(("one two", "three", "four"), 10, 20) == ["one two", "three · four"]
    assert wrap((), 10, 10) == [""]
    sheet = write_rows([MeterRow("clock", ("x" * 5,), "c", 1.0, trouble=True)], {"c": [1.0]}, 60, True).plain
    assert sheet.startswith("! clock") and len(sheet) <= 60 and sheet.isascii()


# The app's own sensors against a driver's library that says what the test wants


class Screen:
    """The app in a child process."""

    def __init__(self, library: Path, script: stand_in.Script) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(stand_in.__file__).with_name("screen.py"))],
            env=stand_in.environment(library, script),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def look(self, key: str = "") -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{key}\n")
        self.process.stdin.flush()
        return str(json.loads(self.process.stdout.readline()))

    def until(self, *words: str, seconds: float = 60.0) -> str:
        end = time.monotonic() + seconds
        while True:
            seen = self.look()
            if all(each in seen for each in words):
                return seen
            assert time.monotonic() < end, seen
            time.sleep(0.1)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    if stand_in.COMPILER is None or sys.platform != "linux":
        pytest.skip("needs a C compiler (cc) on Linux to build the stand-in for the NVIDIA driver's library")
    return stand_in.build(tmp_path)


@pytest.fixture
def machine(tmp_path: Path) -> stand_in.Script:
    return stand_in.Script(tmp_path / "machine")


@pytest.fixture
def screen(library: Path, machine: stand_in.Script) -> Iterator[Screen]:
    found = Screen(library, machine)
    with found.process:
        yield found
        assert found.process.stdin
        found.process.stdin.close()
        assert found.process.wait(60) == 0


def test_the_screen_follows_the_driver(screen, machine):
    """Memory grows, the clock is throttled, a device falls off, the driver reloads; the app lives on."""
    screen.until("GPU 0 of 2", "/ 80.0 GiB")
    screen.look("m")
    screen.until("NVIDIA Stand-in 80GB", "1.00 / 80.0 GiB", "1,980 of 1,980 MHz", "41 °C", "90 of 700 W")
    machine.put({"gpu.0.memory.used": 60 * GIB, "gpu.0.utilisation": 97})
    screen.until("60.0 / 80.0 GiB (75 %)", "97 %")
    machine.put({"gpu.0.clock": 1200, "gpu.0.throttle": HEAT, "gpu.0.temperature": 91})
    screen.until("1,200 of 1,980 MHz", "held down by heat", "91 °C")
    machine.put({"gpu.0.power": stand_in.NOT_SUPPORTED})
    screen.until("NA of 700 W")
    machine.put({"gpu.0.all": stand_in.LOST})
    seen = screen.until("fallen off the bus")
    assert "2.00 / 80.0 GiB" in seen and "held down" not in seen
    machine.put({"init": stand_in.NOT_LOADED, "generation": 2})
    screen.until("kernel module is not")
    machine.put({"init": 0, "gpu.0.all": None, "gpu.0.memory.used": 5 * GIB, "gpu.0.throttle": 0})
    screen.until("5.00 / 80.0 GiB")
    assert screen.process.poll() is None
