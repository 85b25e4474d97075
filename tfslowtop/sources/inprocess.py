"""A scenario whose kernel runs in a thread of this process: same kernel, same agent, through memory.

For small machines and for comparison. Importing TensorFlow and tracing hold the interpreter, so the screen
stalls meanwhile, and a crash of the kernel ends the app.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..agent.attachment import Attachment
from ..agent.protocol.channel import MemoryChannel
from ..agent.protocol.events import Command, Ended, Event, Output, Stop
from ..catalogue.kernel import Kernel

#: The reading end of the kernel's standard output and error, once they are redirected.
_output: int | None = None


def take_output() -> None:
    """Redirect the kernel's output away from the screen, before the app starts.

    TensorFlow writes to the descriptors themselves, where the screen is drawn. So the screen gets descriptors
    of its own, and the usual ones lead into a pipe.
    """
    global _output
    _output, write = os.pipe()
    os.set_blocking(_output, False)
    for name, number in (("__stdout__", 1), ("__stderr__", 2)):
        setattr(sys, name, os.fdopen(os.dup(number), "w", encoding="utf-8"))  # the app's, from now on
        os.dup2(write, number)
    os.close(write)
    os.set_blocking(1, False)  # a full pipe must not block the kernel: the rest is lost instead


def _read_output() -> list[Event]:
    if _output is None:
        return []
    try:
        return [Output(os.read(_output, 1 << 16).decode(errors="replace"))]
    except BlockingIOError:
        return []


class InProcessSource:
    def __init__(
        self, path: Path, *, params: Mapping[str, str] | None = None, fixes: Sequence[str] = ()
    ) -> None:
        self._channel = MemoryChannel()
        self._path, self._params, self._fixes = path.resolve(), dict(params or {}), fixes
        self._kernel: Kernel | None = None
        self._thread = threading.Thread(target=self._run, name="tfslowtop-kernel", daemon=True)
        self._sent = threading.Event()
        self._code = 0
        self._asked = self._ended = False

    @property
    def pid(self) -> int | None:
        return os.getpid()

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        attachment = Attachment(self._channel, script=str(self._path), scenario=self)
        self._kernel = Kernel(attachment.agent, self._path, self._params, self._fixes)
        attachment.start()
        self._code = self._kernel.run()
        attachment.remove()

    def obey(self, command: Command) -> None:
        """Pass a command on to the kernel; the attachment calls this."""
        if self._kernel is not None:
            self._kernel.obey(command)

    def leave(self) -> None:
        """End the kernel."""
        if self._kernel is not None:
            self._kernel.stop()

    def rest(self, seconds: float) -> bool:
        return self._sent.wait(seconds)

    def events(self, timeout: float) -> Sequence[Event]:
        self._sent.clear()
        if self._ended:
            return []
        waiting = self._channel.events
        deadline = time.monotonic() + timeout
        while not waiting and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        alive = self._thread.is_alive()  # checked before the rest is taken, so that nothing follows Ended
        events = _read_output()
        while waiting:
            events.append(waiting.popleft())
        if not alive:
            self._ended = True
            how = "It was stopped." if self._asked else "It ended."
            events.append(Ended(self._code, how, time.perf_counter_ns()))
        return events

    def wait(self) -> Ended:
        self._thread.join()
        self._ended = True
        return Ended(self._code, "", time.perf_counter_ns())

    def send(self, command: Command) -> None:
        self._channel.commands.put(command)
        self._sent.set()

    def stop(self) -> None:
        self._asked = True
        self.send(Stop())

    def close(self) -> None:
        self.leave()
