"""TensorFlow's GPU memory, with a stand-in for TensorFlow: no real GPU has answered (tests/README.md)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tfslowtop.agent.hooks.allocator import Allocator

SECOND = 1_000_000_000
INNER = ("tensorflow.python.pywrap_tfe", "tensorflow.python.client.pywrap_tf_session")


def device(kind: str, number: int) -> SimpleNamespace:
    return SimpleNamespace(device_type=kind, name=f"/physical_device:{kind}:{number}")


@pytest.fixture
def tensorflow(monkeypatch):
    """Has two GPUs of which the program uses the second; remembers what it was asked."""

    def install(get_memory_info: Callable[[str], dict[str, int]], **context: object) -> SimpleNamespace:
        usual = {
            "_initialized": True,
            "_logical_devices": [device("CPU", 0), device("GPU", 0)],
            "_visible_device_list": [device("CPU", 0), device("GPU", 1)],
        }
        made = SimpleNamespace(**(usual | context))
        experimental = SimpleNamespace(get_memory_info=get_memory_info)
        tf = SimpleNamespace(config=SimpleNamespace(experimental=experimental))
        monkeypatch.setitem(sys.modules, "tensorflow", tf)
        monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", SimpleNamespace(_context=made))
        # Its inner modules are not there in this one, so there are no limits.
        for module in INNER:
            monkeypatch.delitem(sys.modules, module, raising=False)
        return made

    return install


def told(name: str) -> dict[str, int]:
    return {"GPU:0": {"current": 3, "peak": 5}, "GPU:1": {"current": 7, "peak": 9}}[name]


def refuse(name: str) -> dict[str, int]:
    raise ValueError("Allocator stats not available for device")


def read(allocator: Allocator, second: int) -> dict[str, float]:
    return {gauge.name: gauge.value for gauge in allocator.read(second * SECOND)}


def test_under_the_number_that_the_driver_knows(tensorflow):
    tensorflow(told)
    assert read(Allocator(), 1) == {"tf.gpu.1.memory": 3, "tf.gpu.1.peak": 5}


def test_a_gpu_that_is_cut_into_logical_ones(tensorflow):
    tensorflow(told, _logical_devices=[device("GPU", 0), device("GPU", 1)])
    found = read(Allocator(), 1)
    assert found == {"tf.gpu.0.memory": 3, "tf.gpu.0.peak": 5, "tf.gpu.1.memory": 7, "tf.gpu.1.peak": 9}


def test_how_much_it_may_take(tensorflow, monkeypatch):
    """Asked once; the list that TensorFlow makes for it is freed."""
    made, freed = [], []
    kinds = ["CPU", "GPU", "GPU"]
    eager = SimpleNamespace(
        TFE_ContextListDevices=lambda handle: made.append(handle) or "list",
        TF_DeviceListCount=lambda devices: len(kinds),
        TF_DeviceListType=lambda devices, n: kinds[n],
        TF_DeleteDeviceList=freed.append,
    )
    graph = SimpleNamespace(TF_DeviceListMemoryBytes=lambda devices, n: 100 * n)
    tensorflow(told, _logical_devices=[device("GPU", 0), device("GPU", 1)], _context_handle="handle")
    for name, module in zip(INNER, (eager, graph), strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    allocator = Allocator()
    for second in (1, 2):
        found = read(allocator, second)
        assert (found["tf.gpu.0.limit"], found["tf.gpu.1.limit"]) == (100, 200)
    assert made == ["handle"] and freed == ["list"]
    del graph.TF_DeviceListMemoryBytes
    assert "tf.gpu.0.limit" not in read(Allocator(), 1) and freed == ["list"] * 2


@pytest.mark.tensorflow
def test_the_real_tensorflow_says_how_much(root):
    """Of its CPU, which is the only device here; a GPU's limit is in the same list."""
    code = (
        "import json\nimport tensorflow as tf\n"
        "from tensorflow.python.eager import context\n"
        "from tfslowtop.agent.hooks.allocator import _limits\n"
        "assert _limits(context._context) == {}\n"
        "tf.constant(1)\n"
        "print(json.dumps([_limits(context._context, 'CPU'), _limits(context._context)]))\n"
    )
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    limits, gpus = json.loads(done.stdout)
    assert list(limits) == ["0"] and limits["0"] >= 1 << 20
    assert gpus == {}


def test_once_a_second(tensorflow):
    asked = []
    tensorflow(lambda name: asked.append(name) or told(name))
    allocator = Allocator()
    for tenth in range(31):
        allocator.read(tenth * SECOND // 10)
    assert len(asked) == 4


@pytest.mark.parametrize(
    "context",
    [
        {"_initialized": False},
        {"_logical_devices": [device("CPU", 0)]},
        {"_logical_devices": None},
    ],
)
def test_nothing_is_asked_before_the_program_has_a_gpu(tensorflow, context):
    asked = []
    tensorflow(asked.append, **context)
    assert read(Allocator(), 1) == {} and asked == []


def test_without_tensorflow_and_without_a_context(tensorflow, monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.delitem(sys.modules, "tensorflow.python.eager.context", raising=False)
    assert read(Allocator(), 1) == {}
    assert "tensorflow" not in sys.modules
    tensorflow(told)
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", SimpleNamespace(_context=None))
    assert read(Allocator(), 1) == {}


def test_a_device_that_keeps_no_count_is_left_alone(tensorflow):
    asked = []
    tensorflow(lambda name: asked.append(name) or refuse(name))
    allocator = Allocator()
    assert [read(allocator, second) for second in range(10)] == [{}] * 10
    assert len(asked) == 3


def test_another_version_of_tensorflow(tensorflow):
    context = tensorflow(told)
    del context._visible_device_list
    assert read(Allocator(), 1) == {}
    tensorflow(told, _logical_devices=[SimpleNamespace()])
    assert read(Allocator(), 1) == {}
