"""Reads what TensorFlow's own allocator uses on each GPU, once a second, and which GPUs it can see.

TensorFlow takes nearly all of a GPU's memory at its start, so the driver's figure never changes; this one
does. It is read only where there is a GPU and once the program has used TensorFlow: asking earlier would
initialise the context, and with it the choice of devices and of memory growth.
"""

from __future__ import annotations

import os
import re
import sys
from types import ModuleType
from typing import Any

from ..protocol.events import Gauge
from ..protocol.names import tf_gpu_gauge
from .base import Hook, tensorflow_context
from .context import HookContext

#: Nanoseconds between two reads: each is a call into TensorFlow, and memory changes slowly.
_EVERY = 1_000_000_000
#: Refusals in a row after which a device is left alone: an allocator without statistics never has any.
_PATIENCE = 3


#: Which devices CUDA shows, and in which order. A program may set them itself, before it uses TensorFlow.
_CUDA_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


def cuda_variables() -> tuple[str, ...]:
    """Return the variables that are set now, as `name=value`."""
    return tuple(f"{name}={os.environ[name]}" for name in _CUDA_VARIABLES if name in os.environ)


class Allocator:
    """`read` never raises and never makes TensorFlow do anything that the program has not begun."""

    def __init__(self) -> None:
        self._next = 0
        self._refused: dict[int, int] = {}
        self._limits: dict[int, int] | None = None

    def read(self, now: int) -> list[Gauge]:
        """Read `tf.gpu.N.memory`, `.peak` and `.limit` in bytes, at most once a second."""
        if now < self._next:
            return []
        self._next = now + _EVERY
        try:
            return self._read(now)
        except Exception:
            # These names may differ in another version of TensorFlow.
            return []

    def _read(self, now: int) -> list[Gauge]:
        chosen = tensorflow_context()
        tensorflow: Any = sys.modules.get("tensorflow")
        if tensorflow is None or chosen is None:
            return []
        found: list[Gauge] = []
        gpus = _gpus(chosen)
        if gpus and self._limits is None:
            self._limits = {}  # asked once, whatever the answer
            self._limits = _limits(chosen)
        for logical, number in gpus:
            if self._refused.get(logical, 0) >= _PATIENCE:
                continue
            try:
                usage = tensorflow.config.experimental.get_memory_info(f"GPU:{logical}")
            except Exception:
                self._refused[logical] = self._refused.get(logical, 0) + 1
                continue
            self._refused[logical] = 0
            usage = {**usage, "limit": (self._limits or {}).get(logical)}
            for key, name in (("current", "memory"), ("peak", "peak"), ("limit", "limit")):
                if usage.get(key) is not None:
                    found.append(Gauge(tf_gpu_gauge(number, name), now, float(usage[key])))
        return found


def _limits(tf_context: Any, kind: str = "GPU") -> dict[int, int]:
    """Read the limit of each logical GPU's allocator, which no public function returns."""
    eager: Any = sys.modules.get("tensorflow.python.pywrap_tfe")
    graph: Any = sys.modules.get("tensorflow.python.client.pywrap_tf_session")
    try:
        devices = eager.TFE_ContextListDevices(tf_context._context_handle)
    except Exception:
        return {}
    try:
        every = range(eager.TF_DeviceListCount(devices))
        places = [n for n in every if eager.TF_DeviceListType(devices, n) == kind]
        return {gpu: graph.TF_DeviceListMemoryBytes(devices, n) for gpu, n in enumerate(places)}
    except Exception:
        return {}
    finally:
        eager.TF_DeleteDeviceList(devices)


def _gpus(tf_context: Any) -> list[tuple[int, int]]:
    """Return TensorFlow's numbers of its GPUs: the logical one, which it expects, and the physical one."""
    logical = [each for each in tf_context._logical_devices or () if each.device_type == "GPU"]
    visible = [each for each in tf_context._visible_device_list or () if each.device_type == "GPU"]
    physical = [re.search(r"(\d+)$", each.name) for each in visible]
    # A GPU that is split into several logical ones has no figure of its own: those keep their numbers.
    if len(visible) == len(logical) and all(physical):
        return [(n, int(each.group(1))) for n, each in enumerate(physical) if each is not None]
    return [(n, n) for n in range(len(logical))]


class AllocatorHook(Hook):
    title = "TensorFlow's GPU memory"

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._allocator = Allocator()

    def install(self, module: ModuleType) -> None:
        pass

    def tick(self, now: int) -> None:
        for gauge in self._allocator.read(now):
            self.context.gauge(gauge.name, gauge.at, gauge.value)
