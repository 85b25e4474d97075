"""Python code as text for the screen: highlighted, and wrapped where it is too long."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.highlight import HighlightTheme, highlight


def highlight_lines(lines: Sequence[str], *, ansi: bool) -> list[Content]:
    """Return the lines in colour; `ansi` uses those of the terminal."""
    theme = _Ansi if ansi else HighlightTheme
    code = "\n".join(line.expandtabs(4) for line in lines)
    parts = highlight(code, language="python", theme=theme).split("\n", allow_blank=True)
    return [*parts[: len(lines)], *(Content("") for _ in range(len(lines) - len(parts)))]


def wrap_line(line: Content, width: int, indent: int) -> list[Content]:
    """Return a line of code in pieces of at most `width`; all but the first are indented."""
    if line.cell_length <= width:
        return [line]
    indent = min(indent, width // 2)
    pieces: list[Content] = []
    room = width
    while line.cell_length > room:
        text = line.plain[: room + 1]
        # At a blank after the indentation, or else anywhere.
        cut = text.rfind(" ", len(text) - len(text.lstrip()) + 1)
        cut = cut if cut > 0 else room
        pieces.append(line[:cut])
        line = line[cut:]
        line = line[len(line.plain) - len(line.plain.lstrip()) :]
        room = width - indent
    pieces.append(line)
    return [pieces[0], *(piece.pad_left(indent) for piece in pieces[1:])]


#: Styles by the names that Pygments gives to tokens.
_ANSI = {
    "Token.Comment": "dim italic",
    "Token.Keyword": "bold $secondary",
    "Token.Literal.Number": "$warning",
    "Token.Literal.String": "$success",
    "Token.Name.Builtin": "$secondary",
    "Token.Name.Decorator": "bold",
    "Token.Name.Function": "bold underline",
    "Token.Operator.Word": "bold $secondary",
}


class _Ansi(HighlightTheme):
    """Highlighting in the terminal's own colours. Textual's theme uses colours that ANSI themes lack."""

    STYLES = {token: _ANSI[str(token)] for token in HighlightTheme.STYLES if str(token) in _ANSI}
