"""What a program wrote for a terminal, as plain lines. Pure.

A progress bar goes back to the start of its line, a colour is an escape sequence, a bell is a control
character: none of them may reach our own screen.
"""

from __future__ import annotations

import re

from ..clean import UNSAFE

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, moves
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC and other strings: titles, links
    r"|\x1b[ -/]*[0-~]?"  # the rest
    r"|\x9b[0-?]*[ -/]*[@-~]",
    re.DOTALL,
)
_CONTROLS = re.compile(f"(?![\b\r])[{UNSAFE}]")  # those two move the cursor in a line
_ERASE = "\x1b[K"
#: A longer line is cut: nobody reads it, and it would cost at every repaint.
LONGEST = 2000


def lines(text: str, most: int = 2000) -> list[str]:
    """The newest `most` lines as a terminal would show them in the end."""
    # `\x1b[K` after `\r` is how bars clear what is longer than they are now.
    text = text.replace("\r\n", "\n").replace("\x1b[2K", _ERASE).replace("\x1b[0K", _ERASE)
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    return [_line(row) for row in rows[-most:]]


def _line(row: str) -> str:
    if "\r" not in row and "\b" not in row:
        return _clean(row)[:LONGEST]
    shown = ""
    for part in row.split("\r"):
        erases = _ERASE in part
        new = _back(_clean(part))
        # Without an erase, what the shorter text does not cover stays, as on a terminal.
        shown = new if erases else new + shown[len(new) :]
    return shown[:LONGEST].rstrip()


def _clean(text: str) -> str:
    return _CONTROLS.sub("", _SEQUENCES.sub("", text)).expandtabs(8)


def _back(text: str) -> str:
    """Keras' bars step back with backspaces; the text after them writes over."""
    if "\b" not in text:
        return text
    cells: list[str] = []
    at = 0
    for character in text:
        if character == "\b":
            at = max(0, at - 1)
        else:
            cells[at : at + 1] = [character]
            at += 1
    return "".join(cells)
