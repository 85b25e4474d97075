"""Where running sessions are found again: one private directory per session, under one per user.

Not in XDG_RUNTIME_DIR: that is emptied when the last login ends, which is just when a session must be found
again. A session is alive while its keeper holds the lock; no pid is trusted for that.
"""

from __future__ import annotations

import functools
import json
import os
import pwd
import secrets
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .locks import clear_abandoned, is_locked, is_ours, lock
from .source import SourceError

#: Names another directory for sessions, where none of the usual ones will do.
HOME_VARIABLE = "TFSLOWTOP_SESSIONS"

_FILE, _AGENT, _WATCH, _TAIL = "session.json", "agent", "watch", "output"

#: The largest size of a session's file, in bytes.
_ROOM = 1 << 16

#: Seconds for which the end of an unwatched script is kept.
_KEPT = 24 * 3600.0

#: Bytes of a session's file that are read: an argument list may have two million.
_LONGEST = 1 << 22

#: The end of the year 9999, the last one that can be printed.
_LATEST = 253_402_300_799


@dataclass(frozen=True, slots=True)
class Record:
    """The content of the session's file. `code` is None while the script runs."""

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
        """Describe it in one line for a list."""
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
        homes: list[Callable[[], Path]] = [functools.partial(_make, home) for home in _homes()]
        for find_home in (*homes, *_new_homes()):
            try:
                self._open(find_home())
                return
            except OSError as error:
                reasons.append(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            except _NotOursError as error:
                reasons.append(str(error))
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
            self.lock = lock(self.directory)
            # A file system without room for the session's file is noticed now, while there are others to try.
            (self.directory / f"{_FILE}.new").write_bytes(bytes(_ROOM))
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
        """Close this process's copies."""
        self.agent.close()
        self.watch.close()
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def write(directory: Path, record: Record, tail: bytes | None = None) -> None:
    """Write the file completely or not at all: a reader never sees half of it.

    A disk that has become full costs the file, not the running script.
    """
    new = directory / f"{_FILE}.new"
    try:
        new.write_text(json.dumps(asdict(record)))
        new.replace(directory / _FILE)
        if tail is not None:
            (directory / _TAIL).write_bytes(tail)
    except OSError:
        new.unlink(missing_ok=True)


def find_sessions() -> Sequence[Session]:
    """Return this user's sessions, newest first: those that run, then those that ended unwatched.

    What is not ours is skipped: another user may have created a directory of that name.
    """
    found = [session for home in _homes() if _problem(home) == "" for session in _in(home)]
    return sorted(found, key=lambda s: (s.alive, s.record.started), reverse=True)


def pick_session(pid: int | None = None) -> Session:
    """Return the session that `--reattach [PID]` means."""
    sessions = find_sessions()
    if pid is not None:
        for session in sessions:
            if session.record.pid == pid:
                return session
        owner = _owner_of(pid)
        if owner not in (None, os.getuid()):
            raise SourceError(
                f"Process {pid} belongs to {_name(owner)}, and only its own user can reattach to it."
            )
        raise SourceError(
            f"There is no script with pid {pid} to reattach to; --reattach alone takes the newest script."
        )
    if not sessions:
        passed = "; ".join(problem for home in _homes() if (problem := _problem(home)))
        also = f" Not searched: {passed}." if passed else ""
        raise SourceError(f"There is nothing to reattach to; start a script with --attach.{also}")
    return sessions[0]


def prune(home: Path) -> None:
    """Remove what killed keepers left behind, and ends that nobody asked for."""
    clear_abandoned(directory for directory in home.iterdir() if not _is_worth_keeping(directory))


def _is_worth_keeping(directory: Path) -> bool:
    """Whether it is an end that nobody has seen yet and that is not too old."""
    record = _read(directory)
    try:
        age = time.time() - directory.stat().st_mtime
    except OSError:
        return False
    return record is not None and record.code is not None and age < _KEPT


def _in(home: Path) -> Iterator[Session]:
    for directory in home.iterdir():
        record = _read(directory)
        if record is None:
            continue
        alive = is_locked(directory)
        # Neither running nor ended: its keeper was killed, and there is nothing to report.
        if alive or record.code is not None:
            yield Session(directory, record, alive and record.code is None)


def _read(directory: Path) -> Record | None:
    """Read a record; None for a file that is missing, not ours, or written by another version."""
    try:
        if not is_ours(directory):
            return None
        with (directory / _FILE).open("rb") as file:
            fields = json.loads(file.read(_LONGEST))
        record = Record(**{**fields, "argv": tuple(fields["argv"])})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if _is_sound(record) else None


def _is_sound(record: Record) -> bool:
    """Check that every field has its declared type; readers rely on it."""
    whole = (record.pid, 0 if record.code is None else record.code)
    texts = (*record.argv, record.cwd, record.token)
    return (
        all(type(number) is int and abs(number) < 2**31 for number in whole)
        and all(type(text) is str for text in texts)
        and type(record.started) in (int, float)
        and 0 <= record.started < _LATEST
    )


def _homes() -> list[Path]:
    """Return the candidates, best first. They are the same for every login of a user, whatever its TMPDIR."""
    if HOME_VARIABLE in os.environ:
        return [Path(os.environ[HOME_VARIABLE])]
    name = f"tfslowtop-{os.getuid()}"
    # Those with a suffix were created where the usual one belonged to somebody else.
    return [home for place in _places() for home in (place / name, *sorted(place.glob(f"{name}-*")))]


def _places() -> list[Path]:
    return [Path(place) for place in dict.fromkeys(["/tmp", tempfile.gettempdir(), "/dev/shm"])]


def _new_homes() -> list[Callable[[], Path]]:
    """Create the last resort: a name that nobody could take before us."""
    if HOME_VARIABLE in os.environ:
        return []

    def make(place: Path) -> Path:
        return Path(tempfile.mkdtemp(dir=place, prefix=f"tfslowtop-{os.getuid()}-"))

    return [functools.partial(make, place) for place in _places()]


class _NotOursError(Exception):
    pass


def _make(home: Path) -> Path:
    home.mkdir(mode=0o700, exist_ok=True)
    problem = _problem(home)
    if problem:
        raise _NotOursError(problem)
    return home


def _problem(home: Path) -> str | None:
    """Say why nothing in it is trusted; empty if it is, None if it does not exist.

    The name can be guessed, so somebody else may have created it.
    """
    try:
        status = home.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{home}: {error.strerror}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{home} is not a directory"
    if status.st_uid != os.getuid():
        return f"{home} belongs to {_name(status.st_uid)}"
    if status.st_mode & 0o077:
        return f"{home} is open to others (close it with: chmod 700 {home})"
    return ""


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
    """Refuse a socket whose other end belongs to another user."""
    if not hasattr(socket, "SO_PEERCRED"):
        return  # the directory's mode has to suffice
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    uid = int.from_bytes(data[4:8], "little")
    if uid != os.getuid():
        raise SourceError(f"The socket belongs to {_name(uid)}, and only its own user can reattach to it.")
