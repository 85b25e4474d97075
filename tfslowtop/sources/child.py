"""A scenario whose kernel runs in a child process of its own.

Importing TensorFlow, tracing and a crash then cannot freeze or kill the screen, and the screen's own work
does not colour the measured latency.
"""

from __future__ import annotations

import json
import os
import queue
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..agent.events import Command, Ended, Event, Note, Output, Stop
from ..agent.wire import WireError
from ..kernel import SOCKET_VARIABLE, TOKEN_VARIABLE
from .listener import Connection, Listener
from .loop import signal_name
from .source import SourceError

#: A scenario gives way to the screen that shows it. A user's own script is never re-niced.
NICE = 10

#: Seconds between asking the child to stop, SIGTERM, and SIGKILL.
PATIENCE = 1.0

#: TensorFlow greets with pages of notes on standard error; a scenario's reader has no use for them.
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONUNBUFFERED": "1"}


# The child finds this very package, installed or in a checkout, and nothing by chance: not what lies in the
# working directory, and, unlike with PYTHONPATH, not site-packages before the standard library.
_ROOT = str(Path(__file__).resolve().parents[2])
_BOOTSTRAP = (
    "import sys; del sys.path[0]; sys.path.append(sys.argv.pop(1)); from tfslowtop.kernel import main; main()"
)


class ChildSource:
    """Starts `python -m tfslowtop.kernel` and speaks with its agent."""

    def __init__(
        self,
        path: Path,
        *,
        params: Mapping[str, str] | None = None,
        fixes: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        nice: int = NICE,
    ) -> None:
        self._path = path.resolve()
        self._params = dict(params or {})
        self._fixes = fixes
        self._env = {**_QUIET, **(env or {})}
        self._nice = nice
        self._listener: Listener | None = None
        self._connection: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._selector = selectors.DefaultSelector()
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._stop_at: float | None = None
        self._ended = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        self._listener = Listener()
        command = [sys.executable, "-c", _BOOTSTRAP, _ROOT, str(self._path)]
        command += ["--params", json.dumps(self._params), "--fixes", ",".join(self._fixes)]
        environment = {
            **os.environ,
            **self._env,
            SOCKET_VARIABLE: self._listener.address,
            TOKEN_VARIABLE: self._listener.token,
        }
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,  # Ctrl-C and the terminal's hang-up are the watcher's to handle
            )
        except OSError as error:
            self._listener.close()
            raise SourceError(
                f"The scenario's process could not be started: {error.strerror or error}."
            ) from error
        if self._nice:
            try:
                os.setpriority(os.PRIO_PROCESS, self._process.pid, self._nice)
            except OSError:
                pass  # then it runs at the usual priority
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._selector.register(self._listener.socket, selectors.EVENT_READ)
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)

    def rest(self, seconds: float) -> bool:
        return bool(select.select([self._wake_read], [], [], seconds)[0])

    def events(self, timeout: float) -> Sequence[Event]:
        if self._ended or self._process is None:
            return []
        events: list[Event] = []
        self._press(time.monotonic())
        for key, _ in self._selector.select(timeout):
            events += self._ready(key.fileobj)
        if self._process.poll() is not None:
            events += self._last_words()
            self._ended = True
        return events

    def send(self, command: Command) -> None:
        self._commands.put(command)
        self._wake()

    def stop(self) -> None:
        if self._stop_at is None:
            self._stop_at = time.monotonic()
            self.send(Stop())

    def close(self) -> None:
        process = self._process
        if process is not None:
            if process.poll() is None:
                _signal(process, signal.SIGKILL)
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
        self._hang_up()
        self._selector.close()
        self._wake_read.close()
        self._wake_write.close()
        if self._listener is not None:
            self._listener.close()

    def _wake(self) -> None:
        try:
            self._wake_write.send(b"\0")
        except OSError:
            pass  # a full pipe wakes just as well; a closed one has nobody to wake

    def _ready(self, thing: object) -> list[Event]:
        assert self._process is not None and self._listener is not None
        if thing is self._wake_read:
            try:
                self._wake_read.recv(4096)
            except BlockingIOError:
                pass
            self._deliver()
            return []
        if thing is self._listener.socket:
            return self._accept()
        if thing is self._process.stdout:
            return self._read_output()
        return self._receive()

    def _accept(self) -> list[Event]:
        assert self._listener is not None
        connection = self._listener.accept()
        if connection is None:
            return []
        if self._connection is not None:
            connection.close()
            return [Note("A second process tried to connect; it was refused.")]
        self._connection = connection
        self._selector.register(connection.socket, selectors.EVENT_READ)
        return []

    def _receive(self) -> list[Event]:
        connection = self._connection
        if connection is None:
            return []
        try:
            events = connection.receive()
        except WireError as error:
            self._hang_up()
            # Only the real target counts: a stranger who was refused changes nothing.
            if connection.hello is not None:
                self.stop()
            return [Note(str(error))]
        if events is None:
            self._hang_up()
            return []
        self._deliver()
        return events

    def _deliver(self) -> None:
        """Hands over the commands that wait, once the target has said who it is."""
        if self._connection is None or self._connection.hello is None:
            return
        while not self._commands.empty():
            self._connection.send(self._commands.get())
        self._connection.flush()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._selector.unregister(self._connection.socket)
            self._connection.close()
            self._connection = None

    def _read_output(self) -> list[Event]:
        assert self._process is not None and self._process.stdout is not None
        try:
            data = os.read(self._process.stdout.fileno(), 1 << 16)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(self._process.stdout)
            return []
        return [Output(data.decode(errors="replace"))]

    def _press(self, now: float) -> None:
        """Asked to stop and still there: SIGTERM, then SIGKILL."""
        if self._stop_at is None or self._process is None:
            return
        waited = now - self._stop_at
        if waited > 2 * PATIENCE:
            _signal(self._process, signal.SIGKILL)
        elif waited > PATIENCE:
            _signal(self._process, signal.SIGTERM)

    def _last_words(self) -> list[Event]:
        """What is still in the socket and the pipe, and how it ended."""
        assert self._process is not None
        events: list[Event] = []
        while True:
            ready = [k.fileobj for k, _ in self._selector.select(0) if k.fileobj is not self._wake_read]
            if not ready:
                break
            for thing in ready:
                events += self._ready(thing)
        code = self._process.returncode
        return [*events, Ended(code, _how(code, asked=self._stop_at is not None), time.perf_counter_ns())]


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except OSError:
        pass  # gone meanwhile


def _how(code: int, *, asked: bool) -> str:
    if code < 0:
        name = signal_name(-code)
        hint = " Was the machine out of memory?" if name == "SIGKILL" and not asked else ""
        return "It was stopped." if asked else f"The process was killed by {name}.{hint}"
    if asked or code == 0:
        return "It was stopped." if asked else "It ended."
    return f"The process ended with exit code {code}."
