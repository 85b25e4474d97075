"""`--ascii`: lets nothing but 7-bit characters through to the terminal, whoever paints them.

Our own texts are written in ASCII where they are made, with as many characters as that takes ("..."). This
filter is for the rest: Textual's frames, scrollbars and palette, whose width has to stay, cell by cell.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

#: The closest look-alikes. Partial blocks are the ends of scrollbars and frames: a blank will do for those.
_LOOK_ALIKE = {
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


class AsciiFilter(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else Segment("".join(map(_to_ascii, segment.text)), segment.style, segment.control)
            for segment in segments
        ]


@lru_cache(1024)
def _to_ascii(character: str) -> str:
    """Return a replacement of the same width."""
    if character.isascii():
        return character
    if character in _LOOK_ALIKE:
        return _LOOK_ALIKE[character]
    if "\u2500" <= character <= "\u257f":  # a corner or a crossing
        return "+"
    if "\u2580" <= character <= "\u259f" or "\U0001fb00" <= character <= "\U0001fbff":
        return " "
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    width = cell_len(character)
    return plain[:width].ljust(width, "?") if plain else "?" * width
