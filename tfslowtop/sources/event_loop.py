"""The watcher's side of a running script, with or without a keeper.

One thread waits in `events`; other threads put what they want done into a queue and wake it.
"""

from __future__ import annotations

import queue
import select
import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence

from ..agent.protocol.events import Command, Ended, Event

#: Seconds between asking a script to stop (as Ctrl-C does), SIGTERM, and SIGKILL. An interrupted training
#: script may have a checkpoint to write.
PATIENCE = 5.0

_PRESSURE = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class EventLoop:
    """Subclasses implement `_ready` and `_deliver_signal`."""

    patience = PATIENCE

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._todo: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self.asked_to_stop = False
        self._pressed = 0  # how many of _PRESSURE were sent
        self._press_at = 0.0
        self._ended = False
        self._closed = False

    def rest(self, seconds: float) -> bool:
        return bool(select.select([self._wake_read], [], [], seconds)[0])

    def events(self, timeout: float) -> Sequence[Event]:
        if self._ended or self._closed:
            return []
        events: list[Event] = []
        if self._pressed and time.monotonic() > self._press_at:
            self._press()
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._wake_read:
                self._awake()
            else:
                events += self._ready(key.fileobj)
        events += self._tick()
        for position, event in enumerate(events):
            if isinstance(event, Ended):
                self._ended = True
                return events[: position + 1]
        return events

    def wait(self) -> Ended:
        """Wait for the end and read nothing else; signals still pass."""
        while (code := self._exit_code()) is None:
            if self._pressed and time.monotonic() > self._press_at:
                self._press()
            if self.rest(0.1):
                self._awake()
        self._ended = True
        return Ended(code, "", time.perf_counter_ns())

    def send(self, command: Command) -> None:
        self.soon(lambda: self._send(command))

    def stop(self) -> None:
        """Send Ctrl-C first; SIGTERM and SIGKILL follow later, or at once when called again."""
        self.asked_to_stop = True
        self.soon(self._press)

    @property
    def stopped_by(self) -> str:
        """The last signal that `stop` sent; empty if it sent none."""
        return signal_name(_PRESSURE[min(self._pressed, len(_PRESSURE)) - 1]) if self._pressed else ""

    def signal(self, number: int) -> None:
        """Send the script a signal."""
        self.soon(lambda: self._deliver_signal(number))

    def soon(self, action: Callable[[], None]) -> None:
        """Run `action` on the thread that waits for events. Never blocks."""
        self._todo.put(action)
        try:
            self._wake_write.send(b"\0")
        except OSError:
            pass  # a full pipe wakes just as well; a closed one has nobody to wake

    def close(self) -> None:
        """Let go. A script that was not asked to stop keeps running: an error of ours must not end a
        training."""
        if self._closed:
            return
        self._leave()
        self._closed = True
        self._selector.close()
        self._wake_read.close()
        self._wake_write.close()

    def _awake(self) -> None:
        try:
            self._wake_read.recv(4096)
        except BlockingIOError:
            pass
        while not self._todo.empty():
            self._todo.get()()

    def _press(self) -> None:
        number = _PRESSURE[min(self._pressed, len(_PRESSURE) - 1)]
        self._pressed += 1
        self._press_at = time.monotonic() + self.patience
        self._deliver_signal(number)

    def _exit_code(self) -> int | None:
        """None while it runs."""
        raise NotImplementedError

    def _ready(self, thing: object) -> list[Event]:
        raise NotImplementedError

    def _tick(self) -> list[Event]:
        return []

    def _send(self, command: Command) -> None:
        raise NotImplementedError

    def _deliver_signal(self, number: int) -> None:
        raise NotImplementedError

    def _leave(self) -> None:
        raise NotImplementedError


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


#: Notes for a script in which there was nothing to watch.
UNSEEN = "The script ended without importing TensorFlow or NumPy in its main process."


def how_it_ended(code: int, *, asked: bool) -> str:
    """Describe an exit code in a sentence."""
    if code < 0:
        name = signal_name(-code)
        if asked:
            return f"The script was stopped ({name})."
        hint = " Was the machine out of memory?" if name == "SIGKILL" else ""
        return f"The script was killed by {name}.{hint}"
    if asked:
        return f"The script was stopped; its exit code is {code}."
    return "The script ended." if code == 0 else f"The script ended with exit code {code}."
