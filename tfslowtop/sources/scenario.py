"""A scenario whose kernel runs in a child process.

So importing TensorFlow, tracing and a crash cannot freeze or kill the screen, and drawing does not affect the
measured latency.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..agent.protocol.events import Ended, Event, Output, Stop
from ..catalogue.kernel import SOCKET_VARIABLE, TOKEN_VARIABLE
from .event_loop import signal_name
from .listening_source import Listening
from .source import SourceError
from .warm import NICE, QUIET, WarmKernel, start_kernel


class ChildSource(Listening):
    """Starts `python -m tfslowtop.catalogue.kernel` and talks to its agent."""

    patience = 1.0

    def __init__(
        self,
        path: Path,
        *,
        params: Mapping[str, str] | None = None,
        fixes: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        nice: int = NICE,
        warm: WarmKernel | None = None,
    ) -> None:
        """`warm` may have a process that has imported TensorFlow already."""
        super().__init__()
        self._warm = warm
        self._path = path.resolve()
        self._params = dict(params or {})
        self._fixes = fixes
        self._env = {**QUIET, **(env or {})}
        self._nice = nice
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        listener = self._listen()
        arguments = [str(self._path), "--params", json.dumps(self._params), "--fixes", ",".join(self._fixes)]
        ours = {**self._env, SOCKET_VARIABLE: listener.address, TOKEN_VARIABLE: listener.token}
        try:
            self._process = self._warm.take(self._path, arguments, ours) if self._warm else None
            if self._process is None:
                self._process = start_kernel(arguments, {**os.environ, **ours}, nice=self._nice)
        except OSError as error:
            listener.close()
            raise SourceError(
                f"The scenario's process could not be started: {error.strerror or error}."
            ) from error
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def stop(self) -> None:
        if not self.asked_to_stop:
            super().stop()

    def _ready(self, thing: object) -> list[Event]:
        pipe = self._process.stdout if self._process is not None else None
        if pipe is None or thing is not pipe:
            return super()._ready(thing)
        try:
            data = os.read(pipe.fileno(), 1 << 16)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(pipe)
            return []
        return [Output(data.decode(errors="replace"))]

    def _exit_code(self) -> int | None:
        return self._process.poll() if self._process is not None else 0

    def _tick(self) -> list[Event]:
        if self._process is None or (code := self._process.poll()) is None:
            return []
        how = _how(code, asked=self.asked_to_stop)
        return [*self._rest_of_it(), Ended(code, how, time.perf_counter_ns())]

    def _misunderstood(self) -> None:
        self.stop()

    def _deliver_signal(self, number: int) -> None:
        if number == signal.SIGINT:
            self._send(Stop())
        elif self._process is not None and self._process.poll() is None:
            try:
                os.killpg(self._process.pid, number)
            except OSError:
                pass  # it has ended meanwhile

    def _leave(self) -> None:
        if self._process is not None:
            self._deliver_signal(signal.SIGKILL)
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
        super()._leave()


def _how(code: int, *, asked: bool) -> str:
    if code < 0:
        name = signal_name(-code)
        hint = " Was the machine out of memory?" if name == "SIGKILL" and not asked else ""
        return "It was stopped." if asked else f"The process was killed by {name}.{hint}"
    if asked or code == 0:
        return "It was stopped." if asked else "It ended."
    return f"The process ended with exit code {code}."
