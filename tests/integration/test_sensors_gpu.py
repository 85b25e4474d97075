"""The GPU sensor: the real pynvml against a library that says what the test wants. See tests/README.md."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nvml_stand_in as stand_in
import pytest

from tfslowtop.sensors.gauges import GaugeMaker
from tfslowtop.sensors.gpu import GpuDevice, GpuReading
from tfslowtop.sensors.nvml import throttle_words

needs_compiler = pytest.mark.skipif(
    stand_in.COMPILER is None or sys.platform != "linux",
    reason="needs a C compiler (cc) on Linux to build the stand-in for the NVIDIA driver's library",
)
GIB = 2**30


class Reader:
    """A sensor in a child process."""

    def __init__(self, library: Path, script: stand_in.Script, **options: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(stand_in.__file__).with_name("reader.py")), json.dumps(options)],
            env=stand_in.environment(library, script),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def read(self, *pids: int) -> GpuReading:
        assert self.process.stdin and self.process.stdout
        pickle.dump(pids, self.process.stdin)
        self.process.stdin.flush()
        reading = pickle.load(self.process.stdout)
        assert isinstance(reading, GpuReading)
        return reading

    def until(self, wanted: Callable[[GpuReading], bool], seconds: float = 60.0) -> GpuReading:
        end = time.monotonic() + seconds
        while True:
            reading = self.read()
            if wanted(reading):
                return reading
            assert time.monotonic() < end, reading
            time.sleep(0.05)

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stand_in.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def script(tmp_path: Path) -> stand_in.Script:
    return stand_in.Script(tmp_path / "script")


@pytest.fixture
def open_reader(library: Path, script: stand_in.Script) -> Iterator[Callable[..., Reader]]:
    readers: list[Reader] = []

    def start(where: Path = library, **options: object) -> Reader:
        readers.append(Reader(where, script, **options))
        return readers[-1]

    yield start
    for reader in readers:
        reader.close()


@needs_compiler
def test_all_values_of_two_gpus(script, open_reader):
    script.put({"gpu.0.utilisation": 87, "gpu.0.process.0": f"321 {3 * GIB}", "gpu.0.process.1": f"55 {GIB}"})
    script.put({"gpu.0.use.0": "321 70", "gpu.0.use.1": "55 12"})
    reader = open_reader(pids_are_ours=True)
    reader.read(321)  # PCIe traffic is asked for one device at a time
    reading = reader.read(321)
    first, second = reading.devices
    assert (reading.reason, reading.driver) == (None, "550.54.15")
    assert first.uuid == "GPU-00111111-2222-3333-4444-555555555550"
    assert (first.memory_used, first.memory_total) == (GIB, 80 * GIB)
    assert (first.memory_own, first.memory_others) == (3 * GIB, GIB)
    assert (first.utilisation, first.utilisation_own, first.utilisation_others) == (87, 70, 12)
    assert (first.clock, first.clock_max, first.throttle, first.throttles) == (1980, 1980, 0, ())
    assert (first.temperature, first.power, first.power_limit) == (41, 90.5, 700)
    assert (first.pcie_rx, first.pcie_tx) == (2048 * 1024, 1024 * 1024)
    assert (second.memory_used, second.memory_own, second.utilisation_own) == (2 * GIB, 0, 0)
    assert (second.cuda_number, second.visible, second.lost) == (1, True, False)


@needs_compiler
def test_values_that_move(script, open_reader):
    reader = open_reader()
    seen = []
    for step in range(3):
        script.put({"gpu.0.memory.used": (10 + step) * GIB, "gpu.0.clock": 1980 - 300 * step})
        script.put({"gpu.0.throttle": 0x40 if step else 0, "gpu.0.temperature": 80 + 5 * step})
        device = reader.read().devices[0]
        seen.append((device.memory_used, device.clock, device.throttles, device.temperature))
    assert seen == [
        (10 * GIB, 1980, (), 80),
        (11 * GIB, 1680, ("heat",), 85),
        (12 * GIB, 1380, ("heat",), 90),
    ]


@needs_compiler
@pytest.mark.parametrize("code", [stand_in.NOT_SUPPORTED, stand_in.NO_PERMISSION, "!999"])
def test_each_value_may_be_missing_on_its_own(script, open_reader, code):
    reader = open_reader(pids_are_ours=True)
    whole = reader.read(1).devices[1]
    fields = {
        "utilisation": ["utilisation"],
        "clock": ["clock"],
        "throttle": ["throttle"],
        "temperature": ["temperature"],
        "power": ["power"],
        "power.limit": ["power_limit"],
        "memory.used": ["memory_used", "memory_total"],
        "use": ["utilisation_own", "utilisation_others"],
    }
    for key, names in fields.items():
        script.put({f"gpu.1.{key}": code})
        device = reader.read(1).devices[1]
        missing = [name for name in GpuDevice.__slots__ if getattr(device, name) != getattr(whole, name)]
        assert sorted(set(missing) - {"pcie_rx", "pcie_tx"}) == sorted(names), key
        assert all(getattr(device, name) is None for name in names)
        script.put({f"gpu.1.{key}": stand_in.TWO_GPUS.get(f"gpu.1.{key}")})


@needs_compiler
def test_a_device_that_falls_off_and_comes_back(script, open_reader):
    reader = open_reader()
    reader.read()
    script.put({"gpu.0.all": stand_in.LOST})
    lost, other = reader.read().devices
    assert (lost.lost, lost.label, lost.memory_used, lost.name) == (True, "0", None, "NVIDIA Stand-in 80GB")
    assert (other.lost, other.memory_used) == (False, 2 * GIB)
    for _ in range(5):
        assert [each.lost for each in reader.read().devices] == [True, False]
    script.put({"gpu.0.all": None})
    back = reader.until(lambda reading: not reading.devices[0].lost).devices[0]
    assert back.memory_used == GIB


@needs_compiler
def test_a_device_keeps_its_label_when_the_driver_numbers_anew(script, open_reader):
    reader = open_reader()
    reader.read()
    # The first has fallen off, and after opening again the driver only knows the second, as number 0.
    second = {key: value for key, value in stand_in.TWO_GPUS.items() if key.startswith("gpu.1.")}
    script.put({key.replace("gpu.1.", "gpu.0."): value for key, value in second.items()} | {"count": 1})
    script.put({"generation": 2})
    reading = reader.until(lambda reading: len(reading.devices) == 2)
    assert [(each.label, each.lost, each.memory_used) for each in reading.devices] == [
        ("0", True, None),
        ("1", False, 2 * GIB),
    ]


@needs_compiler
def test_a_driver_restart(script, open_reader):
    reader = open_reader()
    reader.read()
    script.put({"generation": 2, "init": stand_in.NOT_LOADED})
    gone = reader.read()
    assert gone.devices == () and gone.reason == "the NVIDIA driver went away; waiting for it to come back"
    assert "kernel module" in (reader.until(lambda reading: "module" in (reading.reason or "")).reason or "")
    script.put({"init": 0})
    back = reader.until(lambda reading: bool(reading.devices))
    assert back.reason is None and back.devices[0].memory_used == GIB


@needs_compiler
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"init": stand_in.NO_PERMISSION}, "no permission"),
        ({"init": stand_in.NOT_LOADED}, "no NVIDIA driver loaded"),
        ({"init": stand_in.MISMATCH}, "updated under its library"),
        ({"count": 0}, "no NVIDIA device here"),
        ({"count": stand_in.NO_PERMISSION}, "no permission"),
        ({"init": "!999"}, "the NVIDIA driver gives an error"),
    ],
)
def test_the_reason_is_one_sentence(script, open_reader, values, words):
    script.put(values)
    reading = open_reader().read()
    assert reading.devices == ()
    assert reading.reason and words in reading.reason and "\n" not in reading.reason


@needs_compiler
def test_one_device_without_permission(script, open_reader):
    script.put({"gpu.0.handle": stand_in.NO_PERMISSION})
    closed, other = open_reader().read().devices
    assert (closed.memory_used, closed.lost, other.memory_used) == (None, False, 2 * GIB)


@needs_compiler
def test_mig_slices(script, open_reader):
    script.put({"gpu.0.mig": 1, "gpu.0.mig.count": 7})
    for n in (0, 2):
        script.put({f"gpu.0.mig.{n}.uuid": f"MIG-{n}0000000-1111", f"gpu.0.mig.{n}.memory.used": n * GIB})
        script.put({f"gpu.0.mig.{n}.memory.total": 20 * GIB, f"gpu.0.mig.{n}.process.0": f"7{n} {n * GIB}"})
    reader = open_reader(visible="MIG-20000000-1111", pids_are_ours=True)
    reading = reader.read(72)
    assert [each.label for each in reading.devices] == ["0:0", "0:2", "1"]
    part = reading.devices[1]
    assert (part.memory_used, part.memory_own, part.memory_total) == (2 * GIB, 2 * GIB, 20 * GIB)
    # Clocks and heat are the whole device's; use is not told for a slice.
    assert (part.clock, part.temperature, part.utilisation) == (1980, 41, None)
    assert (part.cuda_number, part.visible, reading.devices[2].visible) == (0, True, False)
    # Cut together again: the whole device is back under its label, and no slice is called lost.
    script.put({"gpu.0.mig": 0, "generation": 2})
    again = reader.until(lambda reading: bool(reading.devices))
    assert [(each.label, each.lost) for each in again.devices] == [("0", False), ("1", False)]


@needs_compiler
def test_pids_that_make_no_sense(script, open_reader):
    """In a container the driver lists the host's pids; a match by chance must not be taken for the target."""
    script.put({"gpu.0.process.0": f"{os.getpid()} {GIB}", "gpu.0.use.0": f"{os.getpid()} 50"})
    device = open_reader(pids_are_ours=False).read(os.getpid()).devices[0]
    assert (device.memory_own, device.memory_others, device.utilisation_own) == (None, None, None)
    assert device.memory_used == GIB
    script.put({"gpu.0.process.0": "4242 -1"})
    device = open_reader(pids_are_ours=True).read(4242).devices[0]
    assert device.memory_own is None and device.processes and device.processes[0].memory is None


@needs_compiler
def test_an_old_driver(script, open_reader, tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    script.put({"gpu.0.process.0": f"9 {GIB}", "gpu.0.throttle": 0x4})
    device = open_reader(stand_in.build(folder, old_driver=True), pids_are_ours=True).read(9).devices[0]
    # Its memory query counts what the driver has reserved as used.
    assert device.memory_used == GIB + 512 * 2**20
    assert (device.memory_own, device.throttles) == (GIB, ("power cap",))


@needs_compiler
def test_a_driver_that_hangs_does_not_stop_the_host(script, library):
    program = """
import os, time
from tfslowtop.sensors.sampler import Sampler
got = []
sampler = Sampler(os.getpid(), got.extend); sampler.start(); time.sleep(1.5)
hosts = sum(gauge.name == 'cpu' for gauge in got)
begun = time.perf_counter(); sampler.stop(0.2)
print(hosts, time.perf_counter() - begun, sampler.gpu)
os._exit(0)
"""
    script.put({"sleep.ms": 20_000})
    out = subprocess.run(
        [sys.executable, "-c", program],
        env=stand_in.environment(library, script),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    hosts, stopping, gpu = out.stdout.split()
    assert int(hosts) >= 4 and float(stopping) < 1 and gpu == "None", out.stdout


def test_without_a_driver_there_is_a_sentence_and_no_error(tmp_path):
    program = (
        "import sys; from tfslowtop.sensors.gpu import GpuSensor; assert 'pynvml' not in sys.modules;"
        "print(GpuSensor().read().reason)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA driver")
    assert (out.stdout, out.stderr) == ("no NVIDIA driver here\n", "")


def test_gauges_of_a_device():
    device = GpuDevice("0:1", 0, memory_used=1.0, throttle=0x24, temperature=None)
    gauges = {each.name: each.value for each in GaugeMaker().gpu(GpuReading(7, (device,)))}
    assert gauges == {"gpu.0:1.memory": 1.0, "gpu.0:1.throttle": 0x24, "gpu.0:1.lost": 0.0}
    assert throttle_words(int(gauges["gpu.0:1.throttle"])) == ("power cap", "heat")
