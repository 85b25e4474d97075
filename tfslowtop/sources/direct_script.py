"""A script that keeps our own terminal: we draw no screen, so its output passes untouched."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable

import psutil

from ..agent.protocol.events import Ended, Event, Note
from .event_loop import UNSEEN, how_it_ended
from .launch import Command as Launch
from .listening_source import Listening
from .source import SourceError

#: Seconds between two checks for the script's end, where the kernel cannot notify us.
_LOOK = 0.05


class DirectScript(Listening):
    """Runs the script as our child, in our process group: the terminal's Ctrl-C reaches both."""

    def __init__(
        self,
        make_command: Callable[[str, str], Launch],
        *,
        stdout: int | None,
        stderr: int | None,
        stdin: int | None,
    ) -> None:
        super().__init__()
        listener = self._listen()
        try:
            command = make_command(listener.address, listener.token)
            self._process = subprocess.Popen(
                command.argv,
                env=dict(command.environment),
                cwd=command.cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                close_fds=False,  # the shell's descriptors are for the script; ours close themselves
            )
        except OSError as error:
            listener.close()
            raise SourceError(f"The script could not be started: {error.strerror or error}.") from error
        except SourceError:
            listener.close()
            raise
        self.pid: int | None = self._process.pid
        self._end: int | None = None
        if hasattr(os, "pidfd_open"):
            try:
                self._end = os.pidfd_open(self._process.pid)
                self._selector.register(self._end, selectors.EVENT_READ)
            except OSError:
                self._end = None  # an old kernel, or a sandbox

    def events(self, timeout: float) -> list[Event]:
        return list(super().events(timeout if self._end is not None else min(timeout, _LOOK)))

    def _exit_code(self) -> int | None:
        return self._process.poll()

    def _tick(self) -> list[Event]:
        code = self._process.poll()
        if code is None:
            return []
        # All that its agent had sent is here, in our own socket's buffer.
        events = self._rest_of_it(self._end)
        if not self._heard_agent:
            events.append(Note(UNSEEN))
        how = how_it_ended(code, asked=self.asked_to_stop)
        return [*events, Ended(code, how, time.perf_counter_ns())]

    def _deliver_signal(self, number: int) -> None:
        if self._process.poll() is not None:
            return
        # Our own group is not the script's alone, so no killpg: the script has to end its children.
        children = _children(self._process.pid) if number == signal.SIGKILL else []
        self._process.send_signal(number)
        for child in children:
            try:
                child.kill()
            except psutil.Error:
                pass

    def _leave(self) -> None:
        if self.asked_to_stop:
            self._deliver_signal(signal.SIGKILL)
            self._process.wait()
        elif self._process.poll() is None:
            self._process.returncode = 0  # it keeps running: not ours to wait for
        super()._leave()
        if self._end is not None:
            os.close(self._end)


def _children(pid: int) -> list[psutil.Process]:
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []
