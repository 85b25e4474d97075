"""`--ascii`: no character beyond 7 bits reaches the terminal, whoever paints it.

Our own texts are spelt in ASCII where they are made, with as many characters as that takes ("..."). This is
for the rest: Textual's frames, scrollbars and palette, whose places on the screen are fixed, cell by cell.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

#: What looks most like it. Blocks of less than a cell are the ends of scrollbars and frames: blanks will do.
_LIKE = {
    **dict.fromkeys("─━═╌╍┄┅┈┉╴╶╸╺–—−", "-"),
    **dict.fromkeys("│┃║╎╏┆┇┊┋╵╷╹╻", "|"),
    **dict.fromkeys("█▓▒●◉", "#"),
    **dict.fromkeys("░", ":"),
    **dict.fromkeys("·•…", "."),
    **dict.fromkeys("→▶►▸›", ">"),
    **dict.fromkeys("←◀◄◂‹", "<"),
    **dict.fromkeys("↑▲△▴", "^"),
    **dict.fromkeys("↓▼▽▾", "v"),
    **dict.fromkeys("×✗✘✕", "x"),
    "✓": "+",
    "µ": "u",
    "°": " ",
    "🔎": "/ ",
}


class SevenBits(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else Segment("".join(map(_spelt, segment.text)), segment.style, segment.control)
            for segment in segments
        ]


@lru_cache(1024)
def _spelt(character: str) -> str:
    """As wide as it was."""
    if character.isascii():
        return character
    if character in _LIKE:
        return _LIKE[character]
    if "\u2500" <= character <= "\u257f":  # a corner or a crossing
        return "+"
    if "\u2580" <= character <= "\u259f" or "\U0001fb00" <= character <= "\U0001fbff":
        return " "
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    width = cell_len(character)
    return plain[:width].ljust(width, "?") if plain else "?" * width
