"""Where running sessions are found again: one private directory per session, under one per user.

Not in XDG_RUNTIME_DIR: that is emptied when the last login ends, which is just when a session must be found
again. A session is alive while its keeper holds the lock; no pid is trusted for that.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import secrets
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .source import SourceError

#: Names another place for sessions, where none of the usual ones will do.
HOME_VARIABLE = "TFSLOWTOP_SESSIONS"

_FILE, _LOCK, _AGENT, _WATCH, _TAIL = "session.json", "lock", "agent", "watch", "output"

#: Seconds for which the end of a script that nobody watched is kept to be told.
_KEPT = 24 * 3600.0

#: Seconds in which a session must have come up.
_BIRTH = 60.0


@dataclass(frozen=True, slots=True)
class Record:
    """What the session's file says. `code` is None while the script runs."""

    pid: int
    argv: tuple[str, ...]
    cwd: str
    started: float
    token: str
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    directory: Path
    record: Record
    alive: bool

    @property
    def watch_address(self) -> str:
        return str(self.directory / _WATCH)

    @property
    def last_output(self) -> str:
        try:
            return (self.directory / _TAIL).read_bytes().decode(errors="replace")
        except OSError:
            return ""

    def describe(self) -> str:
        """One line for a list."""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.record.started))
        state = "running" if self.alive else f"ended with exit code {self.record.code}"
        return f"{self.record.pid}  {' '.join(self.record.argv)}  in {self.record.cwd}, since {when}, {state}"

    def discard(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)


class NewSession:
    """A directory with both sockets listening and the lock held, ready for the keeper to inherit."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        reasons = []
        for home in _homes():
            try:
                _own(home, create=True)
                self._open(home)
                return
            except OSError as error:
                reasons.append(f"{home}: {error.strerror or error}")
        raise SourceError(
            f"No place for a session ({'; '.join(reasons)}). Set TMPDIR to a directory with room."
        )

    def _open(self, home: Path) -> None:
        prune(home)
        self.directory = Path(tempfile.mkdtemp(dir=home, prefix=""))  # made with mode 0700
        self.agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.watch = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.lock = -1
        try:
            self.lock = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            for sock, name in ((self.agent, _AGENT), (self.watch, _WATCH)):
                sock.bind(str(self.directory / name))
                sock.listen(8)
        except OSError:
            self.abandon()
            raise

    @property
    def agent_address(self) -> str:
        return str(self.directory / _AGENT)

    @property
    def watch_address(self) -> str:
        return str(self.directory / _WATCH)

    def abandon(self) -> None:
        self.hand_over()
        shutil.rmtree(self.directory, ignore_errors=True)

    def hand_over(self) -> None:
        """Closes this process's copies."""
        self.agent.close()
        self.watch.close()
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def write(directory: Path, record: Record, tail: bytes | None = None) -> None:
    """Whole or not at all: a reader never meets half a file."""
    if tail is not None:
        (directory / _TAIL).write_bytes(tail)
    new = directory / f"{_FILE}.new"
    new.write_text(json.dumps(asdict(record)))
    new.replace(directory / _FILE)


def find_sessions() -> Sequence[Session]:
    """This user's sessions, the newest first: those that run, then those that ended while nobody watched."""
    found = [session for home in _homes() if home.exists() for session in _in(home)]
    return sorted(found, key=lambda s: (s.alive, s.record.started), reverse=True)


def pick_session(pid: int | None = None) -> Session:
    """The one that `--reattach [PID]` means."""
    sessions = find_sessions()
    if pid is not None:
        for session in sessions:
            if session.record.pid == pid:
                return session
        owner = _owner_of(pid)
        if owner not in (None, os.getuid()):
            raise SourceError(
                f"Process {pid} belongs to {_name(owner)}; a session can be taken up by its own user only."
            )
        raise SourceError(f"Process {pid} is not watched by tfslowtop.")
    if not sessions:
        raise SourceError("No session to take up again: none of yours is running.")
    return sessions[0]


def prune(home: Path) -> None:
    """Takes away what was left by keepers that were killed, and ends that nobody asked for."""
    now = time.time()
    for directory in home.iterdir():
        try:
            age = now - directory.stat().st_mtime
            if not _locked(directory) and age > (_KEPT if _read(directory) is not None else _BIRTH):
                shutil.rmtree(directory, ignore_errors=True)
        except OSError:
            continue  # another tfslowtop is at it


def _in(home: Path) -> Iterator[Session]:
    _own(home, create=False)
    for directory in home.iterdir():
        record = _read(directory)
        if record is None:
            continue
        alive = _locked(directory)
        # Neither running nor ended: its keeper was killed, and there is nothing to tell.
        if alive or record.code is not None:
            yield Session(directory, record, alive and record.code is None)


def _read(directory: Path) -> Record | None:
    try:
        fields = json.loads((directory / _FILE).read_text())
        return Record(**{**fields, "argv": tuple(fields["argv"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _locked(directory: Path) -> bool:
    try:
        descriptor = os.open(directory / _LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who look do not see each other
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _homes() -> list[Path]:
    """Best first. The same for every login of a user, whatever TMPDIR it was given."""
    if HOME_VARIABLE in os.environ:
        return [Path(os.environ[HOME_VARIABLE])]
    places = dict.fromkeys(["/tmp", tempfile.gettempdir(), "/dev/shm"])
    return [Path(place) / f"tfslowtop-{os.getuid()}" for place in places]


def _own(home: Path, *, create: bool) -> None:
    """The name can be guessed, so somebody else may have made it: then nothing in it is believed."""
    if create:
        home.mkdir(mode=0o700, exist_ok=True)
    status = home.lstat()
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
        raise SourceError(f"{home} belongs to {_name(status.st_uid)}, not to you; ask for it to be removed.")
    if status.st_mode & 0o077:
        raise SourceError(f"{home} is open to others; close it with: chmod 700 {home}")


def _owner_of(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def _name(uid: int | None) -> str:
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return f"user {uid}"


def check_peer(sock: socket.socket) -> None:
    """Refuses a socket whose other end is another user's."""
    if not hasattr(socket, "SO_PEERCRED"):
        return  # the directory's mode must do
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    uid = int.from_bytes(data[4:8], "little")
    if uid != os.getuid():
        raise SourceError(
            f"The socket belongs to {_name(uid)}; a session can be taken up by its own user only."
        )
