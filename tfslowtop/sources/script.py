"""A user's own script, unmodified, as a source: `tfslowtop --attach train.py --epochs 3`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from ..agent.protocol.events import Command, Ended, Event, Phase
from ..agent.protocol.names import PHASE_STARTING
from ..clean import clean
from .direct_script import DirectScript
from .kept_script import EndedScript, KeptScript
from .launch import Command as Launch
from .launch import Program, check, find_target, misplaced_options
from .session_file import NewSession, Session, find_sessions, pick_session
from .source import SourceError

__all__ = ["ScriptSource", "find_sessions", "misplaced_options", "pass_signals_on", "pick_session"]


class ScriptSource:
    """Runs `argv` as `python` would, and watches it.

    `argv` is the command line after `python`. `env` is the script's whole environment (by default ours).
    With `headless` the script has our own standard streams, or the descriptors `stdout` and `stderr` in their
    place; otherwise it has a terminal of its own, whose contents arrive as `Output`, and a keeper, so that it
    can outlive us. `stdin` is a descriptor for it to read from instead.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        python: str | None = None,
        step: str | None = None,
        env: Mapping[str, str] | None = None,
        output_file: str | None = None,
        cwd: str | None = None,
        headless: bool = False,
        stdout: int | None = None,
        stderr: int | None = None,
        stdin: int | None = None,
        size: tuple[int, int] = (24, 80),
    ) -> None:
        if headless and output_file is not None:
            raise SourceError(
                "Without a screen the output is not ours to keep; redirect it to a file in the shell."
            )
        self.argv = tuple(argv)
        self._python, self._step, self._env, self._cwd = python, step, env, cwd
        self._output_file, self._headless, self._stdout, self._stderr = output_file, headless, stdout, stderr
        self._stdin, self._size = stdin, size
        self._program: Program | None = None
        self._run: DirectScript | KeptScript | EndedScript | None = None
        self._session: Session | None = None
        self._first: list[Event] = []
        self._stop_early = False

    @classmethod
    def reattach(cls, session: Session, *, size: tuple[int, int] = (24, 80)) -> ScriptSource:
        """Return a source for a session from `find_sessions` or `pick_session`."""
        source = cls(session.record.argv, cwd=session.record.cwd, size=size)
        source._session = session
        return source

    @property
    def pid(self) -> int | None:
        return self._run.pid if self._run else None

    @property
    def name(self) -> str:
        """The name on the screen: `train.py`, `package.train`."""
        target = find_target(self.argv)
        return {"code": "-c", "stdin": "standard input"}.get(target.kind, clean(Path(target.name).name))

    def check(self) -> None:
        """Raise SourceError if the script cannot run; `start` then does not check it again."""
        self._program = check(self.argv, python=self._python, cwd=self._cwd)

    def _command(self, address: str, token: str) -> Launch:
        program = self._program or check(self.argv, python=self._python, cwd=self._cwd)
        return program.command(env=self._env, step=self._step, address=address, token=token)

    def start(self) -> None:
        if self._session is not None:
            self._run = (
                KeptScript.take_up(self._session) if self._session.alive else EndedScript(self._session)
            )
            self.resize(*self._size)
        elif self._headless:
            self._run = DirectScript(
                self._command,
                stdout=self._stdout,
                stderr=self._stderr,
                stdin=self._stdin,
            )
        else:
            self._run = self._start_kept()
        detail = "reattached" if self._session is not None else " ".join(self.argv)
        if self._stop_early:
            self._run.stop()
        self._first.append(Phase(PHASE_STARTING, detail, time.perf_counter_ns()))

    def _start_kept(self) -> KeptScript:
        session = NewSession()
        try:
            command = self._command(session.agent_address, session.token)
        except BaseException:
            session.abandon()
            raise
        return KeptScript.start(
            command, self.argv, session, output_file=self._output_file, stdin=self._stdin, size=self._size
        )

    def rest(self, seconds: float) -> bool:
        return self._run is None or bool(self._first) or self._run.rest(seconds)

    def events(self, timeout: float) -> Sequence[Event]:
        if self._run is None:
            return []
        if self._first:
            first, self._first = self._first, []
            return first
        return self._run.events(timeout)

    def wait(self) -> Ended:
        assert self._run is not None
        return self._run.wait()

    def send(self, command: Command) -> None:
        if self._run is not None:
            self._run.send(command)

    def stop(self) -> None:
        """Send Ctrl-C; SIGTERM and SIGKILL follow after a while, or at once when called again."""
        self._stop_early = True  # it may be starting in another thread just now
        if self._run is not None:
            self._run.stop()

    @property
    def stopped_by(self) -> str:
        """The last signal that `stop` sent; empty if it sent none."""
        return self._run.stopped_by if self._run is not None else ""

    def signal(self, number: int) -> None:
        if self._run is not None:
            self._run.signal(number)

    def detach(self) -> str:
        """Leave the script running without hooks; return a sentence for the terminal that says so."""
        words = self.farewell()
        self.close()
        return words

    def farewell(self) -> str:
        """Return what to print when the script keeps running."""
        pid = self.pid
        if self._headless:
            return f"{self.name} keeps running (pid {pid})."
        where = f" It keeps writing to {self._output_file}." if self._output_file else ""
        return f"{self.name} keeps running (pid {pid}).{where} To reattach: tfslowtop --reattach {pid}"

    def close(self) -> None:
        """Leave nothing of ours behind. A script that was not asked to stop keeps running."""
        if self._run is not None:
            self._run.close()

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the terminal that the script sees."""
        self._size = (rows, columns)
        if isinstance(self._run, KeptScript):
            self._run.resize(rows, columns)

    def type(self, text: str) -> None:
        """Type into the script's terminal. "\\x03" is Ctrl-C, with all its effects."""
        if isinstance(self._run, KeptScript):
            self._run.type(text)

    def interrupt(self) -> None:
        """Ctrl-C."""
        if isinstance(self._run, KeptScript):
            self._run.type("\x03")
        else:
            self.signal(signal.SIGINT)


@contextmanager
def pass_signals_on(source: ScriptSource) -> Iterator[None]:
    """Pass signals on to the script of a headless run; we end when it does.

    These are handlers instead of SIG_IGN, which the script would inherit and then ignore Ctrl-C.
    """

    def pass_on(number: int, frame: FrameType | None) -> None:
        # The terminal sends Ctrl-C to the whole foreground group, so the script has it already.
        if number != signal.SIGINT or not _in_foreground():
            source.signal(number)

    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
