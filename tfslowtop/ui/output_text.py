"""Turns what a program wrote to its terminal into plain lines. Pure.

Progress bars return to the start of their line, colours are escape sequences, a bell is a control character:
none of these may reach our own screen.
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
#: Longer lines are cut: nobody reads them, and every repaint would pay for them.
LONGEST = 2000


def lines(text: str, most: int = 2000) -> list[str]:
    """Return the newest `most` lines as a terminal would show them in the end."""
    # Bars write `\x1b[K` after `\r` to clear what is longer than they are now.
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
        new = _apply_backspaces(_clean(part))
        # Without an erase, the rest of a longer line stays visible, as on a terminal.
        shown = new if erases else new + shown[len(new) :]
    return shown[:LONGEST].rstrip()


def _clean(text: str) -> str:
    return _CONTROLS.sub("", _SEQUENCES.sub("", text)).expandtabs(8)


def _apply_backspaces(text: str) -> str:
    """Apply backspaces: Keras' bars step back with them and write over what was there."""
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
