"""Directories that live as long as a process holds their lock, and how to clear those that nobody holds."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterable
from pathlib import Path

_LOCK = "lock"

#: Seconds within which a new directory must be locked.
BIRTH = 60.0


def lock(directory: Path) -> int:
    """Hold the directory until the descriptor, or its last copy in a child, is closed."""
    new = directory / f"{_LOCK}.new"
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        new.rename(directory / _LOCK)  # locked from the moment it is visible
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_locked(directory: Path) -> bool:
    try:
        descriptor = os.open(directory / _LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(
            descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB
        )  # shared, so that two who check do not see each other
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def is_abandoned(directory: Path) -> bool:
    """Whether it is ours and its maker is gone. `OSError` if that is unknown."""
    if not is_ours(directory):
        return False
    if (directory / _LOCK).exists():
        return not is_locked(directory)
    return time.time() - directory.lstat().st_mtime > BIRTH and not any(directory.iterdir())


def is_ours(directory: Path) -> bool:
    """Whether it is a directory, not a link to one, of this user."""
    status = directory.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def clear_abandoned(directories: Iterable[Path]) -> None:
    for directory in directories:
        try:
            if is_abandoned(directory):
                shutil.rmtree(directory, ignore_errors=True)
        except OSError:
            continue  # another tfslowtop is clearing it
