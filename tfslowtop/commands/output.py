"""Write a command's result to standard output."""

from __future__ import annotations

import io
import sys

from ..exit_codes import FAILED, SUCCESS
from ..own_error import say


def print_json(value: object) -> int:
    """Write data as JSON; return the exit code."""
    from ..export.files import as_json

    return _write(as_json(value))


def print_text(text: str) -> int:
    """Write text and a line break; return the exit code."""
    encoding = sys.stdout.encoding if sys.stdout else "utf-8"
    return _write(f"{text}\n".encode(encoding, "backslashreplace"))


def print_bytes(data: bytes) -> int:
    """Write bytes as they are; return the exit code."""
    return _write(data)


def _write(data: bytes) -> int:
    from ..export.files import write_out

    try:
        write_out(data)
    except BrokenPipeError:  # `tfslowtop list | head`
        return SUCCESS
    except (OSError, ValueError) as error:
        say(f"tfslowtop: Standard output cannot be written: {getattr(error, 'strerror', '') or error}.")
        return FAILED
    return SUCCESS


def escape_unprintable() -> None:
    """Let standard output and error escape what their encoding lacks, instead of failing over a file name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def can_print(text: str) -> bool:
    """Return whether the terminal's encoding has these characters; the app draws on standard error."""
    try:
        text.encode((sys.__stderr__ and sys.__stderr__.encoding) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
