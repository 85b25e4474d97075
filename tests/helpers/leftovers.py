"""Processes that a test has started and not ended, whoever their parent is by now."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

#: Every process that a test starts inherits this variable; its value is different for each test.
MARK = "STARTED_BY_TEST"


def kill_marked(mark: str) -> None:
    """Kill all processes that have this value of the variable in their environment."""
    wanted = f"{MARK}={mark}".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in Path(entry.path, "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
