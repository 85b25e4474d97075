"""The driver's library through pynvml, with its errors sorted by what they end: a value, a device, or all.

pynvml is imported on first use (30 ms), in the watcher only. A call may block for as long as the driver
likes, so this belongs in a thread of its own.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Error codes of NVML.
_UNINITIALIZED, _NO_PERMISSION, _NOT_LOADED, _NO_LIBRARY = 1, 4, 9, 12
NOT_FOUND = 6
_LOST, _RESET_REQUIRED, _MISMATCH, _GPU_NOT_FOUND = 15, 16, 18, 28

NO_DRIVER = "no NVIDIA driver here"
NO_DEVICE = "no NVIDIA device here: the driver is there but sees none"
WENT_AWAY = "the NVIDIA driver went away; waiting for it to come back"

_REASONS = {
    _NO_LIBRARY: NO_DRIVER,
    _NOT_LOADED: "no NVIDIA driver loaded: its library is here but the kernel module is not",
    _NO_PERMISSION: "no permission to ask the NVIDIA driver: /dev/nvidia* is closed to this user",
    _MISMATCH: "the NVIDIA driver was updated under its library: restart tfslowtop, or else the machine",
    _LOST: "the GPU has fallen off the bus",
    _GPU_NOT_FOUND: NO_DEVICE,
}

#: Why a clock is lowered: bit to word. The driver's own names in plain words; two kinds of heat become one.
THROTTLES = (
    (0x001, "idle"),
    (0x002, "set clocks"),
    (0x004, "power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "heat"),
    (0x040, "heat"),
    (0x080, "power brake"),
    (0x100, "display"),
    (0x200, "board limit"),
    (0x400, "reliability"),
)


def throttle_words(mask: int) -> tuple[str, ...]:
    """Return the reasons in a mask, also in one that was recorded as a gauge."""
    return tuple(dict.fromkeys(word for bit, word in THROTTLES if mask & bit))


class NvmlGoneError(Exception):
    """Nothing can be asked until the library is initialised again."""


class DeviceLostError(Exception):
    """This one device no longer answers."""


class Nvml:
    """One initialised library. `reason` says in a sentence why there is none."""

    def __init__(self) -> None:
        self._pynvml: Any = None
        self._open = False
        #: The error code of the last value that was not returned.
        self.refused: int | None = None
        self.reason: str | None = None

    def open(self) -> bool:
        try:
            self._pynvml = importlib.import_module("pynvml")
        except ImportError:
            self.reason = "no module pynvml: pip install nvidia-ml-py"
            return False
        self.close()
        try:
            self._pynvml.nvmlInit()
        except Exception as error:
            self.reason = self._why(error)
            return False
        self._open, self.reason = True, None
        return True

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            self._pynvml.nvmlShutdown()
        except Exception:
            # After a driver restart there is nothing left to shut down, which is how it shows.
            pass

    def ask(self, function: str, *arguments: Any) -> Any:
        """Return what the function returns; None if it is missing or the driver reports no value."""
        call = getattr(self._pynvml, function, None)
        self.refused = None
        if call is None:
            return None
        try:
            return call(*arguments)
        except Exception as error:
            code = getattr(error, "value", None)
            if code in (_UNINITIALIZED, _NOT_LOADED, _MISMATCH):
                raise NvmlGoneError(self._why(error)) from None
            if code in (_LOST, _RESET_REQUIRED, _GPU_NOT_FOUND):
                raise DeviceLostError(self._why(error)) from None
            self.refused = code
            return None

    def first(self, handle: Any, *calls: tuple[Any, ...]) -> Any:
        """Return the first value: newer drivers rename functions, older ones lack the new name."""
        for function, *arguments in calls:
            found = self.ask(function, handle, *arguments)
            if found is not None:
                return found
        return None

    def why_no_device(self) -> str:
        return _REASONS.get(self.refused or 0, NO_DEVICE)

    def constant(self, name: str, default: int) -> int:
        return int(getattr(self._pynvml, name, default))

    @staticmethod
    def _why(error: Exception) -> str:
        code = getattr(error, "value", None)
        if code == _UNINITIALIZED:
            return WENT_AWAY
        return _REASONS.get(code, f"the NVIDIA driver gives an error: {error}") if code else f"NVML: {error}"
