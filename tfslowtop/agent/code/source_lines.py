"""Read the source of code that names its own file, which need not be one.

The file of a code object is any text: that of `python /dev/stdin` is the program's own input, and others are
pipes or devices, which may block or never end. Only a regular file of a sensible size is read.
"""

from __future__ import annotations

import linecache
import os
import stat

#: Bytes; generated code is a few megabytes at most.
_LARGEST = 16 << 20


def source_lines(file: str) -> list[str]:
    """Return the lines of a file, or none if it is no regular file or cannot be read."""
    if file not in linecache.cache:
        try:
            status = os.stat(file)  # noqa: PTH116  pathlib is not loaded in every program
        except ValueError:
            return []  # no name of a file
        except OSError:
            pass  # it may be in an archive, or in a cell of a notebook: linecache knows
        else:
            # Files of /proc are regular and say that they are empty; some of them block.
            if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= _LARGEST:
                return []
    return linecache.getlines(file)


def source_line(file: str, line: int) -> str:
    """Return one line, counted from 1, or an empty text if there is no such line."""
    lines = source_lines(file)
    return lines[line - 1] if 0 < line <= len(lines) else ""
