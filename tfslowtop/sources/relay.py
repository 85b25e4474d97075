"""The keeper's two buffers: what waits for a peer, and the last of the script's output."""

from __future__ import annotations

import codecs
import socket
import time

from .control import Frames
from .session_file import check_peer
from .source import SourceError

#: Bytes of output kept for a watcher that comes later or is slow.
KEPT = 1 << 20

#: Bytes read at once.
CHUNK = 1 << 16

#: Seconds without taking a byte, after which a watcher is no longer waited for.
_STALLED = 1.0


class Peer:
    """One end of a conversation: a socket, and what waits to go into it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.out = bytearray()
        self.frames = Frames()
        self.progress = time.monotonic()

    def push(self) -> bool:
        """Sends what can be sent; False when the other side is gone."""
        try:
            while self.out:
                del self.out[: self.socket.send(self.out)]
                self.progress = time.monotonic()
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def pull(self) -> bytes | None:
        """What is there; None at the end."""
        try:
            return self.socket.recv(CHUNK) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    @property
    def stalled(self) -> bool:
        return bool(self.out) and time.monotonic() - self.progress > _STALLED


class Tail:
    """The last of the output, by position in all of it, and how far the watcher has read."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.end = 0
        self.position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    @property
    def unread(self) -> int:
        return self.end - self.position

    def add(self, data: bytes) -> None:
        self.kept += data
        self.end += len(data)
        if len(self.kept) > 2 * KEPT:  # now and then, not at every line
            del self.kept[:-KEPT]

    def rewind(self) -> None:
        """For a new watcher: all that is kept."""
        self.position = self.end - len(self.kept)
        self._decoder.reset()

    def take(self, *, last: bool = False) -> str:
        """The next piece of text."""
        start = self.end - len(self.kept)
        missed = start - self.position
        if missed > 0:
            self.position = start
            self._decoder.reset()
        at = self.position - start
        data = bytes(self.kept[at : at + CHUNK])
        self.position += len(data)
        text = self._decoder.decode(data, final=last and self.position == self.end)
        return f"\r\n[{missed} bytes of output are not shown]\r\n{text}" if missed > 0 else text


def accept(listener: socket.socket) -> Peer | None:
    try:
        sock, _ = listener.accept()
    except OSError:
        return None
    try:
        check_peer(sock)
    except SourceError:
        sock.close()
        return None
    return Peer(sock)


def hang_up(peer: Peer | None) -> Peer | None:
    """Nobody, for the place that the peer had."""
    if peer is not None:
        peer.socket.close()
    return None
