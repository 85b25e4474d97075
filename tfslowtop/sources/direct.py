"""A script that keeps our own terminal: no screen of ours is in the way, so its output passes untouched."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable

import psutil

from ..agent.events import Command, Ended, Event, Note
from ..agent.wire import WireError
from .launch import Command as Launch
from .listener import Connection, Listener
from .loop import Loop, how_it_ended
from .source import SourceError

#: Seconds between two looks whether the script has ended, where the kernel cannot tell.
_LOOK = 0.05


class DirectScript(Loop):
    """The script is our child, in our process group: the terminal's Ctrl-C reaches it as it reaches us."""

    def __init__(
        self, prepare: Callable[[str, str], Launch], *, stdout_to_stderr: bool, stdin: int | None
    ) -> None:
        super().__init__()
        self._listener = Listener()
        self._connection: Connection | None = None
        self._waiting: list[Command] = []
        self._heard_agent = False
        try:
            command = prepare(self._listener.address, self._listener.token)
            self._process = subprocess.Popen(
                command.argv,
                env=dict(command.environment),
                cwd=command.cwd,
                stdin=stdin,
                stdout=2 if stdout_to_stderr else None,
                close_fds=False,  # what the shell opened is the script's; ours close themselves
            )
        except OSError as error:
            self._listener.close()
            raise SourceError(f"The script could not be started: {error.strerror or error}.") from error
        except SourceError:
            self._listener.close()
            raise
        self.pid: int | None = self._process.pid
        self._selector.register(self._listener.socket, selectors.EVENT_READ)
        self._end: int | None = None
        if hasattr(os, "pidfd_open"):
            try:
                self._end = os.pidfd_open(self._process.pid)
                self._selector.register(self._end, selectors.EVENT_READ)
            except OSError:
                self._end = None  # an old kernel, or a sandbox

    def events(self, timeout: float) -> list[Event]:
        return list(super().events(timeout if self._end is not None else min(timeout, _LOOK)))

    def _ready(self, thing: object) -> list[Event]:
        if thing is self._listener.socket:
            return self._accept()
        if self._connection is not None and thing is self._connection.socket:
            return self._receive()
        return []

    def _accept(self) -> list[Event]:
        connection = self._listener.accept()
        if connection is None:
            return []
        if self._connection is not None:
            connection.close()
            return [Note("A second process tried to connect; it was refused.")]
        self._connection = connection
        self._selector.register(connection.socket, selectors.EVENT_READ)
        if self._heard_agent:
            connection.socket.send(b"\1")  # one that lost its connection waits to be called
        return []

    def _receive(self) -> list[Event]:
        assert self._connection is not None
        try:
            events = self._connection.receive()
        except WireError as error:
            self._hang_up()
            return [Note(str(error))]
        if events is None:
            self._hang_up()
            return []
        self._heard_agent |= self._connection.hello is not None
        if self._connection.hello is not None:
            waiting, self._waiting = self._waiting, []
            for command in waiting:
                self._connection.send(command)
            self._connection.flush()
        return events

    def _tick(self) -> list[Event]:
        code = self._process.poll()
        if code is None:
            return []
        events: list[Event] = []
        # What its agent had sent is all here: it is in our own socket's buffer.
        while ready := [
            key.fileobj for key, _ in self._selector.select(0) if key.fileobj is not self._wake_read
        ]:
            ready = [thing for thing in ready if thing != self._end]
            if not ready:
                break
            for thing in ready:
                events += self._ready(thing)
        if not self._heard_agent:
            events.append(Note("The script ended without importing TensorFlow in its main process."))
        how = how_it_ended(code, asked=self.asked_to_stop)
        return [*events, Ended(code, how, time.perf_counter_ns())]

    def _send(self, command: Command) -> None:
        if self._connection is not None and self._connection.hello is not None:
            self._connection.send(command)
        else:
            self._waiting.append(command)

    def _deliver_signal(self, number: int) -> None:
        if self._process.poll() is not None:
            return
        # Our own group is not the script's alone, so no killpg; what must die takes its children with it.
        children = _children(self._process.pid) if number == signal.SIGKILL else []
        self._process.send_signal(number)
        for child in children:
            try:
                child.kill()
            except psutil.Error:
                pass

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._selector.unregister(self._connection.socket)
            self._connection.close()
            self._connection = None

    def _leave(self) -> None:
        if self.asked_to_stop:
            self._deliver_signal(signal.SIGKILL)
            self._process.wait()
        elif self._process.poll() is None:
            self._process.returncode = 0  # it runs on: not ours to wait for
        self._hang_up()
        self._listener.close()
        if self._end is not None:
            os.close(self._end)


def _children(pid: int) -> list[psutil.Process]:
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []
