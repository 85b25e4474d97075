"""Results that are written at the end of a long run, to a file that was tried before the run began."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from pathlib import Path

from ..own_error import drop_output
from ..sources.source import SourceError
from .numbers import known


def as_json(value: object) -> bytes:
    """Return JSON in UTF-8, whatever the locale.

    A name may hold bytes that are not UTF-8. Python keeps such a byte as a lone surrogate (os.fsdecode),
    which UTF-8 cannot encode but JSON can escape: 0xff becomes the six characters backslash, udcff.
    """
    text = json.dumps(known(value), indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", errors="backslashreplace")


class ResultFile:
    """A file that is replaced as a whole, or standard output for `-`. Raises SourceError if it cannot be."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path: Path | None = None
        self._whole = True  # written to a temporary file beside it, then renamed
        if name != "-":
            self._path = Path(
                os.path.realpath(name)
            )  # found even if the directory changes; a link stays a link
            try:
                self._try(self._path)
            except OSError as error:
                raise SourceError(
                    f"{name} cannot be written ({error.strerror or error}); name another file."
                ) from error

    def _try(self, path: Path) -> None:
        there = path.exists()
        if there and not stat.S_ISREG(path.stat().st_mode):
            self._whole = False  # /dev/null or a pipe: renaming a file over it would destroy it
            if path.is_dir():
                raise IsADirectoryError(21, "it is a directory")
        if there and not os.access(path, os.W_OK):
            raise PermissionError(13, os.strerror(13))
        if not self._whole:
            return
        try:
            # Removed at once, so that nothing of ours is there while the script runs.
            Path(_temporary(path)[1]).unlink()
        except OSError:
            if not there:
                raise
            self._whole = False  # the file is ours to write, but not its directory

    def write(self, data: bytes) -> str:
        """Write the data; return what went wrong in a sentence, empty if nothing did."""
        try:
            if self._path is None:
                write_out(data)
            elif self._whole:
                _replace(self._path, data)
            else:
                with self._path.open("wb") as file:
                    file.write(data)
        except (OSError, ValueError) as error:
            where = self.name if self._path is not None else "standard output"
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return f"The results could not be written to {where}: {reason}."
        return ""


def _temporary(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(prefix=".tfslowtop-", dir=path.parent)


def _replace(path: Path, data: bytes) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mask = os.umask(0o077)
        os.umask(mask)
        mode = 0o666 & ~mask
    descriptor, temporary = _temporary(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # some file systems report only now that they are full
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_out(data: bytes) -> None:
    """Write bytes to standard output, past its encoding."""
    if sys.stdout is None:
        raise ValueError("it is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError:
        drop_output()
        raise
