"""A real pseudo-terminal with the app in it, and a screen to read off."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence

import pyte


class Terminal:
    def __init__(
        self, command: Sequence[str], width: int = 120, height: int = 40, env: dict[str, str] | None = None
    ):
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        self.received = 0
        self.raw = b""
        self._size(width, height)
        environment = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        os.close(slave)

    def _size(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def resize(self, width: int, height: int) -> None:
        self.screen.resize(height, width)
        self._size(width, height)
        os.killpg(self.process.pid, signal.SIGWINCH)

    @property
    def settings(self) -> list:
        """What `stty` shows: echo, line ends, and so on."""
        return termios.tcgetattr(self._master)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read(self, seconds: float = 0.1) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._master], [], [], left)[0]:
                return
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:
                return  # the program has gone
            self.received += len(data)
            self.raw = (self.raw + data)[-65536:]
            # pyte prints some private sequences (queries for keyboard and colours) that a terminal swallows.
            self._stream.feed(re.sub(rb"\x1b\[[<>=?][0-9;]*[uqc]|\x1bP.*?\x1b\\\\", b"", data))

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, wanted: str | Callable[[str], bool], seconds: float = 120.0) -> str:
        """Until the screen shows it; fails with the screen as the message."""
        found = (lambda text: re.search(wanted, text)) if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + seconds
        while not found(self.text):
            assert time.monotonic() < deadline, f"never saw {wanted!r} in:\n{self.text}"
            assert self.process.poll() is None or found(self.text), f"it ended:\n{self.text}"
            self.read(0.1)
        return self.text

    def finish(self, seconds: float = 60.0) -> int:
        """Reads on until the program ends (a terminal that nobody reads would hold it); its exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it did not end:\n{self.text}"
            self.read(0.1)
            time.sleep(0.01)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)

    def hang_up(self) -> None:
        """The terminal goes away, as when an SSH connection drops."""
        os.close(self._master)
        self._master = os.open(os.devnull, os.O_RDWR)
