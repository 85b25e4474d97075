"""The watcher's end of the wire: a Unix socket in a private directory, and one connection on it."""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..agent.protocol.events import (
    COMMANDS,
    Block,
    Command,
    Ended,
    Event,
    Hello,
    Message,
    Note,
    Output,
    Samples,
    StepChosen,
    Toggled,
)
from ..agent.protocol.wire import PROTOCOL, Decoder, WireError, decode, encode, number_of
from .locks import clear_abandoned, lock
from .source import SourceError

#: Bytes read at once. Enough for a batch of 40,000 samples.
_CHUNK = 1 << 20

#: Nanoseconds that no clock and no call reaches: the sum of two still fits into 64 bits.
_FOREVER = 2**62

#: Events that only the keeper sends, or whoever else started the target.
KEEPERS_OWN = frozenset(map(number_of, (Ended, Output)))
#: Events that cost the analysis far more than the average.
_COSTS = {number_of(StepChosen): 100, number_of(Toggled): 10, number_of(Block): 10}
_LEFT_OUT = "The target sends more than 10,000 events a second; what is beyond that is left out."


#: tempfile adds eight characters to it.
_PREFIX = "tfslowtop-"


def _directories() -> Iterator[str | None]:
    """Return where the socket may live, best first: the user's run-time directory is in memory and never
    full."""
    run_time = os.environ.get("XDG_RUNTIME_DIR")
    if run_time and Path(run_time).is_dir():
        yield run_time
    yield None  # tempfile's own choice: TMPDIR, /tmp, ...
    yield "/dev/shm"


class Listener:
    """Waits for the one process that knows the token."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        self._lock = -1
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.directory, self.address = self._bind()
        self.socket.listen(8)
        self.socket.setblocking(False)

    def _bind(self) -> tuple[Path, str]:
        reasons: list[str] = []
        for parent in _directories():
            directory = None
            try:
                clear_abandoned(Path(parent or tempfile.gettempdir()).glob(f"{_PREFIX}????????"))
                directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # made with mode 0700
                self._lock = lock(directory)
                address = str(directory / "agent")
                self.socket.bind(address)
                return directory, address
            except OSError as error:
                self._unlock()
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
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class Allowance:
    """A rate limit: so many at once, and so many a second."""

    def __init__(self, at_once: int, per_second: int) -> None:
        self._most, self._rate = at_once, per_second
        self._left = float(at_once)
        self._at = time.monotonic()

    def take(self, cost: int = 1) -> bool:
        """Take some; return whether there was enough left."""
        if self._left < cost:
            now = time.monotonic()
            self._left = min(self._most, self._left + (now - self._at) * self._rate)
            self._at = now
        if self._left < cost:
            return False
        self._left -= cost
        return True

    def spend(self) -> None:
        """Take one even if nothing is left; `take` refuses until that is made up for."""
        self._left -= 1


class Connection:
    """One target. It is anonymous until it has sent the token.

    An agent at its busiest sends some thousand frames a second. Beyond ten times that, frames are skipped
    undecoded, so that the screen stays responsive whatever a program does.
    """

    #: Only the keeper sends these: from an agent they are forged.
    forbidden: tuple[type, ...] = (Ended, Output)

    def __init__(self, sock: socket.socket, token: str) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.hello: Hello | None = None
        self.fault = ""
        """What came that is not ours, in a sentence. Nothing is read after it."""
        self._token = token
        self._decoder = Decoder()
        self._outgoing = bytearray()
        self._reading = Allowance(20_000, 10_000)
        self._skipping = Allowance(200_000, 400_000)  # half a microsecond each
        self._left_out = False

    def receive(self) -> list[Event] | None:
        """Return what came; None at the end. Check `fault` afterwards."""
        if self.fault or not self._skipping.take(0):
            return []
        try:
            data = self.socket.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self._understand(data) if data else None

    def _understand(self, data: bytes) -> list[Event]:
        received: list[Event] = []
        try:
            for number, payload in self._decoder.frames(data):
                self._skipping.spend()
                if not self._is_wanted(number):
                    continue
                if number not in KEEPERS_OWN and not self._reading.take(_COSTS.get(number, 1)):
                    if not self._left_out:
                        self._left_out = True
                        received.append(Note(_LEFT_OUT))
                    continue
                received.append(self._checked(decode(number, payload)))
        except WireError as error:
            self.fault = str(error)
        return received

    def _is_wanted(self, number: int) -> bool:
        return True

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
        if isinstance(message, self.forbidden):
            raise WireError(f"The target sent {type(message).__name__}, which only tfslowtop itself may say.")
        if isinstance(message, Samples) and message.packed:
            figures = np.frombuffer(message.packed, "<i8")
            if figures.min() <= -_FOREVER or figures.max() >= _FOREVER:
                raise WireError("The target sent a sample with an impossible time.")
        return message

    def call(self) -> None:
        """Call a reconnected agent, which waits for this before it sends."""
        self._outgoing += b"\1"
        self.flush()

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
            self._outgoing.clear()  # receive() reports the end of the connection

    def close(self) -> None:
        self.socket.close()
