"""The watched process's end of a session: reaches the watcher, starts the agent, and lets go without it.

The first connection is made while TensorFlow or NumPy is about to be imported, by a watcher that is there.
When it hangs up (it was closed, or killed, or its SSH connection dropped), the hooks come off and a thread
begins to wait, blocked and free of cost, for the next one. What waits is the kernel's `recv`: nothing is
polled.
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

#: The socket's number in the watched process: away from the script's own files, and select() takes it.
_DESCRIPTOR = 900
#: How far below the limit it is where so many files are not allowed.
_BELOW_LIMIT = 16

#: Seconds before a connection that was lost is made again.
_PAUSE = 0.5

#: Python leaves frames of this file out of the traceback of a failing import.
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"


class Attachment(Protocol):
    def remove(self) -> None: ...


class _Channel(SocketChannel):
    """Says when it died."""

    def __init__(self, sock: socket.socket, on_gone: Callable[[], object]) -> None:
        super().__init__(sock)
        self._on_gone: list[Callable[[], object]] = [on_gone]

    def _die(self) -> None:
        super()._die()
        while self._on_gone:
            self._on_gone.pop()()

    def forget(self) -> None:
        """In a forked child: the connection is the parent's, so not a byte goes into it."""
        self.alive = False
        self._outgoing = bytearray()  # the old one may have been on its way out at that very moment
        self._own.close()


class _Unwatched:
    def __init__(self, channel: Channel, why: str) -> None:
        self._agent = Agent(channel)
        self._agent.emit(Note(f"The script runs unwatched: {why}"))
        self._agent.start()

    def remove(self) -> None:
        self._agent.close()


class Session:
    def __init__(self, address: str, token: str, step: str | None) -> None:
        self._address, self._token, self._step = address, token, step
        self._pid = os.getpid()
        self._channel: _Channel | None = None
        self._attachment: Attachment | None = None
        self._finished = False

    def begin(self) -> None:
        """In the script's own thread, before either is imported, so that no call is missed."""
        sock = self._connect()
        if sock is None:
            return  # no watcher and nobody who could bring one back
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
            return sock  # this process may have next to no files
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
            # Nothing is hooked, but the watcher is told, and its leaving is noticed.
            self._attachment = _Unwatched(channel, f"{type(error).__name__}: {error}")

    def _left(self) -> None:
        """The watcher has hung up, or was hung up on."""
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
            called = sock.recv(1)  # for hours, perhaps: until a watcher comes or whoever brings it is gone
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
                pass  # nobody is there to be told

    def _finish(self) -> None:
        """At exit: the hooks come off, the rest is sent."""
        self._finished = True
        if os.getpid() == self._pid and self._channel is not None:
            self._let_go()
            self._channel.close()

    def _forked(self) -> None:
        # The attachment takes its own hooks off in a child; it must still be there to do so.
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.forget()


def _attach(channel: _Channel, step: str | None) -> Attachment:
    from .. import attachment as attach
    from . import import_watch as imports

    execute = getattr(getattr(imports, "_Loader", None), "exec_module", None)
    if isinstance(execute, FunctionType):
        # When TensorFlow itself fails to import, its traceback is the one that it has without us.
        execute.__code__ = execute.__code__.replace(co_filename=_IMPORT_SYSTEM)
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None) or sys.argv[0]
    attachment: Attachment = attach.start(channel, step=step, script=os.path.abspath(script))  # noqa: PTH100
    return attachment


def _wait_for_import(name: str) -> None:
    """Hooks go in before an import or after it, not in the middle."""
    while getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
        time.sleep(0.1)


def begin(address: str, token: str, step: str | None) -> None:
    Session(address, token, step).begin()
