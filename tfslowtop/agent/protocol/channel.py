"""How the agent reaches the watcher: a Unix socket, or memory when both live in one process.

Nothing here ever blocks on the watcher. `send` returns whether there was room, `flush` writes what was sent,
`received` returns the commands that have arrived.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from queue import Empty, SimpleQueue
from typing import Protocol

from .events import COMMANDS, Command, Event
from .wire import Decoder, WireError, encode

#: Bytes that may wait in the agent for a slow watcher, besides what the kernel's socket buffer holds.
BACKLOG = 1 << 18


class Channel(Protocol):
    alive: bool

    def send(self, event: Event) -> bool: ...
    def flush(self) -> None: ...
    def received(self) -> list[Command]: ...
    def close(self) -> None: ...


class OwnSocket:
    """A socket in a process that may close any descriptor and reuse its number for a file of its own.

    Such a file must not be written to, read or closed, so the descriptor is checked before each use.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._identity = _identity(sock.fileno())

    def is_ours(self) -> bool:
        return self._identity is not None and _identity(self.socket.fileno()) == self._identity

    def close(self) -> None:
        if self.is_ours():
            self.socket.close()
        else:
            self.socket.detach()


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class SocketChannel:
    """A connected, non-blocking stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._own = OwnSocket(sock)
        self._socket = sock
        self._decoder = Decoder()
        self._outgoing = bytearray()
        self.alive = True

    def send(self, event: Event) -> bool:
        # One system call for many events: each call releases the interpreter to the program and takes it
        # back.
        if len(self._outgoing) > BACKLOG:
            self.flush()
        if not self.alive or len(self._outgoing) > BACKLOG:
            return False
        self._outgoing += encode(event)
        return True

    def flush(self) -> None:
        if not self._own.is_ours():
            self._die()
        try:
            while self._outgoing:
                del self._outgoing[: self._socket.send(self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self._die()

    def received(self) -> list[Command]:
        if not self.alive:
            return []
        if not self._own.is_ours():
            self._die()
            return []
        try:
            data = self._socket.recv(1 << 12)
            if not data:
                self._die()
            return [m for m in self._decoder.feed(data) if isinstance(m, COMMANDS)]
        except BlockingIOError:
            pass
        except (OSError, ValueError, WireError):
            self._die()
        return []

    def close(self) -> None:
        """Allow one second for what is waiting to be sent, then hang up."""
        try:
            if self.alive and self._outgoing and self._own.is_ours():
                self._socket.settimeout(1.0)
                self._socket.sendall(self._outgoing)
        except OSError:
            pass
        self._die()

    def _die(self) -> None:
        self.alive = False
        self._outgoing.clear()
        self._own.close()


class MemoryChannel:
    """The same for a kernel that runs in a thread of the watcher's own process."""

    def __init__(self, capacity: int = 4096) -> None:
        self.events: deque[Event] = deque()
        self.commands: SimpleQueue[Command] = SimpleQueue()
        self._capacity = capacity
        self.alive = True

    def send(self, event: Event) -> bool:
        if not self.alive or len(self.events) >= self._capacity:
            return False
        self.events.append(event)
        return True

    def flush(self) -> None:
        pass

    def received(self) -> list[Command]:
        received: list[Command] = []
        try:
            while True:
                received.append(self.commands.get_nowait())
        except Empty:
            return received

    def close(self) -> None:
        self.alive = False
