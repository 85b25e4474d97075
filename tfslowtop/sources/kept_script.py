"""A script in a terminal of its own, held by a keeper: started here, or reattached."""

from __future__ import annotations

import marshal
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..agent.protocol.events import Command, Detach, Ended, Event, Hello, Note, Output
from .event_loop import UNSEEN, EventLoop, how_it_ended
from .keeper import control
from .launch import Command as Launch
from .listener import KEEPERS_OWN, Connection
from .session_file import NewSession, Session, check_peer
from .source import SourceError

# The keeper uses this very package, installed or in a checkout, whatever the environment says.
_ROOT = str(Path(__file__).resolve().parents[2])
_BOOTSTRAP = (
    "import sys; sys.path.append(sys.argv.pop(1)); from tfslowtop.sources.keeper.main import main; main()"
)


#: Seconds for a killed script to be gone, and for its keeper to say so.
_LAST_WORDS = 3.0


class _KeeperConnection(Connection):
    """Carries the agent's events and the keeper's. The keeper lets no agent send its own kinds."""

    forbidden = ()
    _only_keeper = False

    def hear_only_keeper(self) -> list[Event]:
        """Continue after a fault, with the keeper's events only."""
        self._only_keeper, self.fault = True, ""
        return self._understand(b"")

    def _is_wanted(self, number: int) -> bool:
        return not self._only_keeper or number in KEEPERS_OWN

    def control(self, frame: bytes) -> None:
        self._outgoing += frame
        self.flush()


class KeptScript(EventLoop):
    """Talks to the keeper. The events of the script's agent come through it unchanged."""

    def __init__(self, sock: socket.socket, token: str, pid: int | None = None) -> None:
        super().__init__()
        self.pid = pid
        self._connection = _KeeperConnection(sock, token)
        self._selector.register(sock, selectors.EVENT_READ)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._heard_keeper = self._heard_agent = False

    @classmethod
    def start(
        cls,
        command: Launch,
        program: Sequence[str],
        session: NewSession,
        *,
        output_file: str | None,
        stdin: int | None,
        size: tuple[int, int],
    ) -> KeptScript:
        file = None
        try:
            file = None if output_file is None else _open(output_file)
            script = cls(_connect(session.watch_address), session.token)
            script._keeper = _start_keeper(command, program, session, file, stdin, size)
            script.pid = _pid_from(script._keeper)
        except BaseException:
            session.abandon()
            raise
        finally:
            session.hand_over()
            if file is not None:
                os.close(file)
        return script

    @classmethod
    def take_up(cls, session: Session) -> KeptScript:
        return cls(_connect(session.watch_address), session.record.token, session.record.pid)

    def resize(self, rows: int, columns: int) -> None:
        self.soon(lambda: self._connection.control(control.resize_frame(rows, columns)))

    def type(self, text: str) -> None:
        self.soon(lambda: self._connection.control(control.frame(control.TYPE, text.encode())))

    def _ready(self, thing: object) -> list[Event]:
        received = self._connection.receive()
        if received is None:
            return [self._lost("Another tfslowtop watches it now, or its keeper was killed.")]
        self._connection.flush()
        if self._connection.fault:
            received.append(Note(self._connection.fault))
            if self._connection.hello is not None:
                # The agent sent it. The keeper is still trusted, so the script's output and its end are seen;
                # the agent removes its hooks.
                received += self._connection.hear_only_keeper()
                self._connection.send(Detach())
        events = self._sorted_out(received)
        if self._connection.fault:
            events.append(self._lost("What came from it could not be read; it runs on unwatched."))
        return events

    def _sorted_out(self, received: list[Event]) -> list[Event]:
        """Drop the keeper's greeting, and handle its end."""
        events: list[Event] = []
        for event in received:
            if isinstance(event, Hello) and not self._heard_keeper:
                self._heard_keeper = True  # the agent's own comes with TensorFlow or NumPy
            elif isinstance(event, Ended):
                if not self._heard_agent:
                    events.append(Note(UNSEEN))
                events.append(Ended(event.code, how_it_ended(event.code, asked=self.asked_to_stop), event.at))
                self._hang_up()  # now the keeper can exit
            else:
                self._heard_agent |= isinstance(event, Hello)
                events.append(event)
        return events

    def _exit_code(self) -> int | None:
        # Only the keeper knows, and what it sends cannot be read.
        raise SourceError(
            f"The script keeps running (pid {self.pid}). To reattach: tfslowtop --reattach {self.pid}"
        )

    def _lost(self, how: str) -> Ended:
        self._hang_up()
        return Ended(-signal.SIGHUP, how, time.perf_counter_ns())

    def _send(self, command: Command) -> None:
        self._connection.send(command)

    def _deliver_signal(self, number: int) -> None:
        self._connection.control(control.signal_frame(number))

    def _hang_up(self) -> None:
        if self._connection.socket.fileno() >= 0:
            self._selector.unregister(self._connection.socket)
            self._connection.close()

    def _leave(self) -> None:
        if self.asked_to_stop and not self._ended:
            self._deliver_signal(signal.SIGKILL)
            deadline = time.monotonic() + _LAST_WORDS
            while not self._ended and time.monotonic() < deadline:
                self.events(0.1)  # the keeper exits when it has reported the end
        self._hang_up()
        if self._keeper is not None:
            try:
                # The end was reported, so it is about to exit; otherwise it stays with the script.
                self._keeper.wait(2.0 if self._ended else 0)
            except subprocess.TimeoutExpired:
                self._keeper.returncode = 0


class EndedScript(EventLoop):
    """A session whose script ended while nobody watched: its last output and its exit code."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.pid: int | None = None
        self._session = session
        self.soon(lambda: None)  # everything is there: nothing to wait for

    def _tick(self) -> list[Event]:
        text, code = self._session.last_output, self._session.record.code or 0
        self._session.discard()
        end = Ended(code, how_it_ended(code, asked=False), time.perf_counter_ns())
        return [Output(text), end] if text else [end]

    def _exit_code(self) -> int | None:
        return self._session.record.code or 0

    def _send(self, command: Command) -> None:
        pass

    def _deliver_signal(self, number: int) -> None:
        pass

    def _leave(self) -> None:
        pass


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError as error:
        raise SourceError(f"The output cannot be written to {path}: {error.strerror or error}.") from error


def _connect(address: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(address)
        check_peer(sock)
    except OSError as error:
        sock.close()
        raise SourceError(f"The session cannot be reached: {error.strerror or error}.") from error
    except SourceError:
        sock.close()
        raise
    return sock


def _start_keeper(
    command: Launch,
    program: Sequence[str],
    session: NewSession,
    file: int | None,
    stdin: int | None,
    size: tuple[int, int],
) -> subprocess.Popen[bytes]:
    # Handlers do not survive an exec, but ignored signals stay ignored: nohup's SIGHUP is the script's own.
    ignored = [n for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN]
    ignored = [n for n in ignored if n not in (signal.SIGPIPE, signal.SIGXFSZ)]  # Python's own doing
    config = {
        "argv": list(command.argv),
        "program": list(program),
        "environment": dict(command.environment),
        "cwd": command.cwd,
        "directory": str(session.directory),
        "token": session.token,
        "agent": session.agent.fileno(),
        "watch": session.watch.fileno(),
        "lock": session.lock,
        "file": file,
        "stdin": stdin,
        "rows": size[0],
        "columns": size[1],
        "ignored": [int(n) for n in ignored],
    }
    kept = [session.agent.fileno(), session.watch.fileno(), session.lock, file, stdin]
    try:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor for descriptor in kept if descriptor is not None],
            start_new_session=True,
        )
        assert keeper.stdin is not None
        with keeper.stdin:
            keeper.stdin.write(marshal.dumps(config))
    except OSError as error:
        raise SourceError(f"The script's keeper could not be started: {error.strerror or error}.") from error
    return keeper


def _pid_from(keeper: subprocess.Popen[bytes]) -> int:
    """The script's pid, which the keeper reports as soon as there is one."""
    assert keeper.stdout is not None
    with keeper.stdout:
        answer = keeper.stdout.read()
    if not answer.isdigit():
        raise SourceError("The script's keeper could not be started; is there a free terminal (/dev/pts)?")
    return int(answer)
