"""The keeper's two buffers: what waits for a peer, and the end of the script's output."""

from __future__ import annotations

import codecs
import socket
import time

from ..session_file import check_peer
from ..source import SourceError
from .control import Frames

#: Bytes of output kept for a watcher that comes later or is slow.
KEPT = 1 << 20

#: Bytes that a watcher gets if it fell further behind: a little more than the screen keeps.
_RECENT = 1 << 18

#: Bytes read at once.
CHUNK = 1 << 16

#: Bytes of output that a watcher may get per so many seconds. Decoding all that a script can print would take
#: a core from the script, for text that nobody can read.
_SHARE, _WINDOW = 1 << 18, 0.25


class Peer:
    """One end of a conversation: a socket, and what waits to be sent."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.out = bytearray()
        self.frames = Frames()

    def push(self) -> bool:
        """Send what can be sent; False when the other side is gone."""
        try:
            while self.out:
                del self.out[: self.socket.send(self.out)]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def pull(self) -> bytes | None:
        """Return what has arrived; None at the end."""
        try:
            return self.socket.recv(CHUNK) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None


class Pace:
    """How much more of the output the watcher may get now."""

    def __init__(self) -> None:
        self._left = 0
        self._until = 0.0

    @property
    def wait(self) -> float:
        """Return the seconds until more may be sent."""
        now = time.monotonic()
        if now >= self._until:
            self._left, self._until = _SHARE, now + _WINDOW
        return 0.0 if self._left > 0 else self._until - now

    def spend(self, size: int) -> None:
        self._left -= size


class Tail:
    """The end of the output, by position in all of it, and how far the watcher has read."""

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
        if len(self.kept) > 2 * KEPT:  # occasionally, not at every line
            del self.kept[:-KEPT]

    def rewind(self) -> None:
        """Start over for a new watcher: it gets all that is kept."""
        self.position = self.end - min(len(self.kept), KEPT)
        self._decoder.reset()

    def take(self, *, last: bool = False) -> str:
        """Return the next piece of text. A reader that fell behind gets the newest, and learns what is
        missing."""
        missed = self._skip() if self.unread > KEPT else 0
        at = len(self.kept) - self.unread
        data = bytes(self.kept[at : at + CHUNK])
        self.position += len(data)
        text = self._decoder.decode(data, final=last and self.position == self.end)
        return f"\r\n[{missed:,} bytes of output not shown]\r\n{text}" if missed else text

    def _skip(self) -> int:
        """Skip to the newest whole lines; return how many bytes were skipped."""
        recent = len(self.kept) - _RECENT
        line = self.kept.find(b"\n", recent) + 1 or recent
        before, self.position = self.position, self.end - len(self.kept) + line
        self._decoder.reset()
        return self.position - before


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
    """Stands for a missing peer."""
    if peer is not None:
        peer.socket.close()
    return None
