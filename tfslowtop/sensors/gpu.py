"""The GPUs, read from outside the target through the driver's library (NVML). No read ever raises.

Without a GPU there is a `reason` in one sentence and nothing else. A driver that restarts is opened again, a
device that falls off the bus stays in the list as lost while the others continue, and both are retried after
1 s, 2 s, 4 s … 30 s.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from . import nvml as library
from .gpu_device import GpuDevice, GpuProcess, Slot, read_device
from .nvml import DeviceLostError, Nvml, NvmlGoneError
from .pace import Backoff, Paced
from .visible import Known, cuda_numbers

__all__ = ["GpuDevice", "GpuProcess", "GpuReading", "GpuSensor"]

# The kernel's fixed number of the initial pid namespace, whose pids the driver reports.
_FIRST_NAMESPACE = "pid:[4026531836]"


@dataclass(frozen=True, slots=True)
class GpuReading:
    """All devices at one moment (`at`: time.perf_counter_ns), or the `reason` why there are none."""

    at: int
    devices: tuple[GpuDevice, ...] = ()
    reason: str | None = None
    driver: str | None = None


class GpuSensor:
    """Reads all devices. `visible` and `order`: the target's CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.

    `pids_are_ours` says whether the driver's pids are of our pid namespace. In a container they are usually
    the host's, and one of them may happen to equal the target's; None finds out.
    """

    def __init__(
        self,
        visible: str | None = None,
        order: str | None = None,
        *,
        pids_are_ours: bool | None = None,
        proc: Path = Path("/proc"),
    ) -> None:
        self.visible, self.order = visible, order
        self._proc = proc
        self._pids_are_ours = _first_namespace(proc) if pids_are_ours is None else pids_are_ours
        self._nvml = Nvml()
        self._slots: list[Slot] = []
        self._labels: dict[str, str] = {}
        self._ready = False
        self._reason: str | None = None
        self._driver: str | None = None
        self._again = Backoff()
        self._rescan = Paced(10.0, 0.01)
        self._turn = 0
        self._holders = Paced(5.0, 0.002)
        self._held: dict[int, bool] = {}

    def read(self, pids: Collection[int] = ()) -> GpuReading:
        """Read all devices; `pids` are the target and its children."""
        at = time.perf_counter_ns()
        now = at / 1e9
        try:
            self._prepare(now)
            if not self._ready:
                return GpuReading(at, reason=self._reason)
            devices = self._devices(frozenset(self._believable(pids, now)))
        except NvmlGoneError as error:
            self._gone(now, str(error))
            return GpuReading(at, reason=self._reason)
        except Exception as error:
            # No answer of a driver may end the watching.
            self._gone(now, f"the GPU could not be read: {error}")
            return GpuReading(at, reason=self._reason)
        if not any(each.lost for each in devices):
            self._again.worked()
        elif self._again.due(now):
            # Retried at the next read, and then less and less often: opening the library takes long.
            self._again.failed(now)
            self._rescan = Paced(10.0, 0.01)
        return GpuReading(at, devices, driver=self._driver)

    def close(self) -> None:
        self._nvml.close()
        self._ready = False

    def _gone(self, now: float, reason: str) -> None:
        self._nvml.close()
        self._ready, self._reason = False, reason
        self._again.failed(now)

    def _prepare(self, now: float) -> None:
        """Open the library if necessary, and check from time to time which devices there are."""
        if not self._ready and not self._again.due(now):
            return
        if self._ready and not self._rescan.due(now):
            return
        # A lost device is only found again by a library that was reopened.
        if (not self._ready or any(slot.lost for slot in self._slots)) and not self._nvml.open():
            self._gone(now, self._nvml.reason or library.NO_DRIVER)
            return
        self._driver = _text(self._nvml.ask("nvmlSystemGetDriverVersion"))
        self._slots = self._enumerate()
        self._rescan.done(now, time.perf_counter() - now)
        self._ready = bool(self._slots)
        if not self._ready:
            self._gone(now, self._nvml.why_no_device())

    def _enumerate(self) -> list[Slot]:
        found: list[Slot] = []
        for index in range(self._nvml.ask("nvmlDeviceGetCount") or 0):
            try:
                found += self._at_index(index)
            except DeviceLostError:
                if str(index) not in self._labels.values():
                    found.append(Slot(str(index), index, lost=True))
        seen = {slot.label.partition(":")[0] for slot in found}
        # A slice that has disappeared was removed; a whole device was not.
        missing = [slot for slot in self._slots if slot.label not in seen and slot.mig is None]
        for slot in missing:
            slot.lost = True
        pcie = {slot.label: slot.pcie for slot in self._slots}
        for slot in found:
            slot.pcie = pcie.get(slot.label, slot.pcie)
        return sorted(found + missing, key=lambda slot: (int(slot.label.partition(":")[0]), slot.mig or 0))

    def _at_index(self, index: int) -> list[Slot]:
        """Return the device at the driver's `index`, or its MIG slices."""
        handle = self._nvml.ask("nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            return [Slot(str(index), index)]
        uuid = _text(self._nvml.ask("nvmlDeviceGetUUID", handle))
        label = self._label(index, uuid)
        name = _text(self._nvml.ask("nvmlDeviceGetName", handle))
        mode = self._nvml.ask("nvmlDeviceGetMigMode", handle)
        slots = []
        most = self._nvml.ask("nvmlDeviceGetMaxMigDeviceCount", handle) if mode and mode[0] else 0
        for n in range(most or 0):
            part = self._nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, n)
            if part is not None:
                part_uuid = _text(self._nvml.ask("nvmlDeviceGetUUID", part))
                part_name = _text(self._nvml.ask("nvmlDeviceGetName", part)) or name
                slots.append(Slot(f"{label}:{n}", index, part, handle, n, part_uuid, part_name))
        return slots or [Slot(label, index, handle, handle, None, uuid, name)]

    def _label(self, index: int, uuid: str | None) -> str:
        """Keep labels stable: the driver renumbers devices when one has fallen off; a curve must not change
        its device."""
        if uuid is None:
            return str(index)
        if uuid not in self._labels:
            used = set(self._labels.values())
            free = (str(n) for n in (index, *range(len(used) + 1)) if str(n) not in used)
            self._labels[uuid] = next(free)
        return self._labels[uuid]

    def _devices(self, pids: Collection[int]) -> tuple[GpuDevice, ...]:
        self._turn += 1
        numbers = self._cuda_numbers()
        found = []
        for position, slot in enumerate(self._slots):
            device = GpuDevice(slot.label, slot.index, slot.mig, slot.uuid, slot.name, lost=True)
            if slot.handle is None:
                device = replace(device, lost=slot.lost)
            elif not slot.lost:
                with_pcie = self._turn % len(self._slots) == position
                # Two devices in each read, so that eight are read in full every two seconds.
                with_slow = (self._turn + position) % max(1, len(self._slots) // 2) == 0
                try:
                    device = read_device(self._nvml, slot, pids, self._pids_are_ours, with_pcie, with_slow)
                except DeviceLostError:
                    slot.lost = True
            number = numbers.get(slot.label) if numbers is not None else None
            visible = None if numbers is None else number is not None
            found.append(replace(device, cuda_number=number, visible=visible))
        return tuple(found)

    def _cuda_numbers(self) -> dict[str, int] | None:
        known = [
            Known(slot.label, slot.uuid, slot.name, str(slot.index) if slot.mig is not None else None)
            for slot in self._slots
        ]
        return cuda_numbers(self.visible, self.order, known)

    def _believable(self, pids: Collection[int], now: float) -> Collection[int]:
        """Return the pids that can be identified in the driver's list."""
        if self._pids_are_ours:
            return pids
        if self._holders.due(now):
            self._held = {}
            self._holders.done(now, 0.0)
        for pid in pids:
            if pid not in self._held:
                self._held[pid] = _holds_gpu(pid, self._proc)
        return [pid for pid in pids if self._held[pid]]


def _first_namespace(proc: Path) -> bool:
    if sys.platform != "linux":
        return True
    try:
        return os.readlink(f"{proc}/self/ns/pid") == _FIRST_NAMESPACE  # noqa: PTH115
    except OSError:
        return False


def _holds_gpu(pid: int, proc: Path) -> bool:
    """Whether the process has the driver's device open: a number alone proves nothing in a container."""
    try:
        return any(
            os.readlink(each.path).startswith("/dev/nvidia")  # noqa: PTH115
            for each in os.scandir(f"{proc}/{pid}/fd")
        )
    except OSError:
        return False


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else None
