"""The watched process's link to the watcher: connects, starts the agent, and survives the watcher's end.

The first connection is made just before TensorFlow or NumPy is imported. When the watcher hangs up (it was
closed or killed, or its SSH connection dropped), the hooks are removed and a thread waits for the next
watcher. It blocks in `recv`, so waiting costs nothing.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import socket
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import Protocol

from ..protocol.channel import Channel, OwnSocket, SocketChannel
from ..protocol.events import Hello, Note
from ..protocol.wire import PROTOCOL
from ..safety.shield import shielded
from ..safety.signal_handlers import let_through
from ..sender import Agent, start_thread

#: The socket's number in the watched process: away from the script's own files, and small enough for
#: select().
_DESCRIPTOR = 900
#: Distance from the limit where fewer files are allowed.
_BELOW_LIMIT = 16

#: Seconds before a lost connection is made again.
_PAUSE = 0.5

#: Python hides frames of this file in the traceback of a failing import.
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"


class Attachment(Protocol):
    def remove(self) -> None: ...


class _Channel(SocketChannel):
    """Reports when it has died."""

    def __init__(self, sock: socket.socket, on_gone: Callable[[], object]) -> None:
        super().__init__(sock)
        self._on_gone: list[Callable[[], object]] = [on_gone]

    def _die(self) -> None:
        super()._die()
        while self._on_gone:
            self._on_gone.pop()()

    def forget(self) -> None:
        """Let go in a forked child: the connection is the parent's, so not a byte may go into it."""
        self.alive = False
        self._outgoing = bytearray()  # the old one may have been in use at the moment of the fork
        self._own.close()


class _Unwatched:
    def __init__(self, channel: Channel, why: str) -> None:
        self._agent = Agent(channel)
        self._agent.emit(Note(f"The script runs unwatched: {why}."))
        self._agent.start()

    def remove(self) -> None:
        self._agent.close()


class WatcherLink:
    def __init__(self, address: str, token: str, step: str | None) -> None:
        self._address, self._token, self._step = address, token, step
        self._pid = os.getpid()
        self._channel: _Channel | None = None
        self._attachment: Attachment | None = None
        self._finished = False

    def begin(self) -> None:
        """Connect in the script's own thread, before the import, so that no call is missed."""
        sock = self._connect()
        if sock is None:
            return  # no watcher, and nobody who could bring one back
        atexit.register(shielded(self._finish))
        os.register_at_fork(after_in_child=shielded(self._forked))
        self._watch(sock)

    def _connect(self) -> socket.socket | None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(self._address)
        except OSError:
            sock.close()
            return None
        try:
            wanted = min(_DESCRIPTOR, os.sysconf("SC_OPEN_MAX") - _BELOW_LIMIT)
            high = fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD_CLOEXEC, wanted)
        except (OSError, ValueError):
            return sock  # the process may be allowed very few files
        sock.close()
        return socket.socket(fileno=high)

    def _watch(self, sock: socket.socket) -> None:
        channel = _Channel(sock, self._left)
        self._channel = channel
        channel.send(Hello(PROTOCOL, self._token, self._pid, sys.version.split()[0]))
        channel.flush()
        try:
            self._attachment = _attach(channel, self._step)
        except Exception as error:
            let_through(error)
            # Nothing is hooked, but the watcher learns why, and its end is noticed.
            self._attachment = _Unwatched(channel, f"{type(error).__name__}: {error}")

    def _left(self) -> None:
        """React to the end of the connection, from either side."""
        if not self._finished:
            start_thread(self._serve)

    def _serve(self) -> None:
        self._let_go()
        time.sleep(_PAUSE)
        sock = self._connect()
        if sock is None:
            return
        own = OwnSocket(sock)
        sock.settimeout(None)  # whatever socket.setdefaulttimeout says in this program
        try:
            called = sock.recv(1)  # perhaps for hours: until a watcher comes or the keeper is gone
        except OSError:
            called = b""
        if called and own.is_ours():
            _wait_for_import("tensorflow")
            self._watch(sock)
        else:
            own.close()

    def _let_go(self) -> None:
        attachment, self._attachment = self._attachment, None
        if attachment is not None:
            try:
                attachment.remove()
            except Exception:
                pass  # there is nobody to tell

    def _finish(self) -> None:
        """Remove the hooks and send the rest, at exit."""
        self._finished = True
        if os.getpid() == self._pid and self._channel is not None:
            self._let_go()
            self._channel.close()

    def _forked(self) -> None:
        # The attachment removes its own hooks in a child, so it must still exist.
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.forget()


def _attach(channel: _Channel, step: str | None) -> Attachment:
    from .. import attachment as attach
    from . import import_watch as imports

    execute = getattr(getattr(imports, "_Loader", None), "exec_module", None)
    if isinstance(execute, FunctionType):
        # When TensorFlow itself fails to import, its traceback must look as it does without us.
        execute.__code__ = execute.__code__.replace(co_filename=_IMPORT_SYSTEM)
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None) or sys.argv[0]
    attachment: Attachment = attach.start(channel, step=step, script=os.path.abspath(script))  # noqa: PTH100
    return attachment


def _wait_for_import(name: str) -> None:
    """Wait for the end of an import: hooks go in before or after it, not in the middle."""
    while getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
        time.sleep(0.1)


def begin(address: str, token: str, step: str | None) -> None:
    WatcherLink(address, token, step).begin()
