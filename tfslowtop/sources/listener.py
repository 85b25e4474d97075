"""The watcher's end of the wire: a Unix socket in a private directory, and one connection on it."""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..agent.events import COMMANDS, Command, Event, Hello, Message
from ..agent.wire import PROTOCOL, Decoder, WireError, encode
from .source import SourceError

#: Bytes read at once. Enough for a batch of 40,000 samples.
_CHUNK = 1 << 20


def _directories() -> Iterator[str | None]:
    """Where the socket may live, best first: the user's run-time directory is in memory and never full."""
    run_time = os.environ.get("XDG_RUNTIME_DIR")
    if run_time and Path(run_time).is_dir():
        yield run_time
    yield None  # tempfile's own choice: TMPDIR, /tmp, ...
    yield "/dev/shm"


class Listener:
    """Waits for the one process that knows the token."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.directory, self.address = self._bind()
        self.socket.listen(8)
        self.socket.setblocking(False)

    def _bind(self) -> tuple[Path, str]:
        reasons: list[str] = []
        for parent in _directories():
            directory = None
            try:
                directory = Path(tempfile.mkdtemp(prefix="tfslowtop-", dir=parent))  # made with mode 0700
                address = str(directory / "agent")
                self.socket.bind(address)
                return directory, address
            except OSError as error:
                if directory is not None:
                    shutil.rmtree(directory, ignore_errors=True)
                reasons.append(f"{parent or tempfile.gettempdir()}: {error.strerror or error}")
        self.socket.close()
        raise SourceError(
            f"No place for a socket ({'; '.join(reasons)}). Set TMPDIR to a directory with room."
        )

    def accept(self) -> Connection | None:
        try:
            sock, _ = self.socket.accept()
        except OSError:
            return None
        return Connection(sock, self.token)

    def close(self) -> None:
        self.socket.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Connection:
    """One target. It is nobody until it has said the token."""

    def __init__(self, sock: socket.socket, token: str) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.hello: Hello | None = None
        self._token = token
        self._decoder = Decoder()
        self._outgoing = bytearray()

    def receive(self) -> list[Event] | None:
        """What came; None at the end. `WireError` for anything that is not ours."""
        try:
            data = self.socket.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        return [self._checked(message) for message in self._decoder.feed(data)]

    def _checked(self, message: Message) -> Event:
        if self.hello is None:
            if not isinstance(message, Hello) or not hmac.compare_digest(
                message.token.encode(), self._token.encode()
            ):
                raise WireError("Something that does not know the token connected; it was refused.")
            if message.protocol != PROTOCOL:
                raise WireError(
                    f"The target speaks version {message.protocol} of the protocol, we speak {PROTOCOL}."
                )
            self.hello = message
        if isinstance(message, COMMANDS):
            raise WireError("The target sent a command; only the watcher does that.")
        return message

    def send(self, command: Command) -> None:
        self._outgoing += encode(command)
        self.flush()

    def flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: self.socket.send(self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self._outgoing.clear()  # the end of the connection is told by receive()

    def close(self) -> None:
        self.socket.close()
