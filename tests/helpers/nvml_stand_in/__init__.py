"""A driver's library without a driver: compiled from `nvml.c`, and a script of what it says.

`Script` is the file that the library reads at every call; changing it changes the machine under whatever is
watching. `environment` makes a child process (ours, or nvitop) load it in place of the real one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

#: Error codes of the driver's library.
UNINITIALIZED, NOT_SUPPORTED, NO_PERMISSION, NOT_LOADED, LOST, MISMATCH = "!1", "!3", "!4", "!9", "!15", "!18"

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

#: Two GPUs, of which the first works.
TWO_GPUS: dict[str, object] = {
    "init": 0,
    "generation": 1,
    "driver": "550.54.15",
    "count": 2,
    **{
        f"gpu.{n}.{key}": value
        for n in (0, 1)
        for key, value in {
            "uuid": f"GPU-{n}{n}111111-2222-3333-4444-55555555555{n}",
            "name": "NVIDIA Stand-in 80GB",
            "memory.used": (1 + n) * 2**30,
            "memory.total": 80 * 2**30,
            "memory.reserved": 512 * 2**20,
            "utilisation": 0,
            "clock": 1980,
            "clock.max": 1980,
            "throttle": 0,
            "temperature": 41 + n,
            "power": 90_500,
            "power.limit": 700_000,
            "pcie.rx": 2048,
            "pcie.tx": 1024,
        }.items()
    },
}


class Script:
    """The state of the pretended machine, in a file."""

    def __init__(self, path: Path, values: dict[str, object] | None = None) -> None:
        self.path = path
        self._values = dict(TWO_GPUS if values is None else values)
        self.put({})

    def put(self, values: dict[str, object]) -> None:
        """Change some of it; None takes a key away."""
        self._values.update(values)
        lines = [f"{key} {value}\n" for key, value in self._values.items() if value is not None]
        # In one move: the library may be reading just now.
        fresh = self.path.with_suffix(".new")
        fresh.write_text("".join(lines))
        fresh.replace(self.path)


def build(folder: Path, old_driver: bool = False) -> Path:
    """Compile the library into `folder`."""
    assert COMPILER is not None
    source = Path(__file__).with_name("nvml.c")
    library = folder / "libnvidia-ml.so.1"
    options = ["-DOLD_DRIVER"] if old_driver else []
    subprocess.run(
        [COMPILER, "-O1", "-Wall", "-shared", "-fPIC", *options, "-o", str(library), str(source)], check=True
    )
    return folder


def environment(library: Path, script: Script) -> dict[str, str]:
    """For a child process that shall load the stand-in from the folder `library`."""
    return {**os.environ, "LD_LIBRARY_PATH": str(library), "NVML_STAND_IN": str(script.path)}
