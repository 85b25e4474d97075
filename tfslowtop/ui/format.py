"""Numbers as a person reads them: three digits and a unit."""

from __future__ import annotations

import math

from rich.cells import cell_len, set_cell_size
from rich.text import Text

#: Said where there is no value.
NOTHING = "–"
#: How each direction of a trend is marked.
SIGNS = {"rising": "▲", "falling": "▼", "flat": "=", "unclear": "?"}

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_ASCII = str.maketrans("µ×–−→·°▲▼", "ux-->| ^v") | {ord("±"): "+-", ord("…"): "..."}


def digits(value: float) -> str:
    """Three significant digits, never an exponent: 1.23, 12.3, 123, 1,234."""
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit, scaled: `12.4 ms`, `612 MB`, `1,204`."""
    if not math.isfinite(value):
        return NOTHING
    if unit == "":
        return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else digits(value)
    steps = _SECONDS if unit == "s" else _BYTES if unit == "B" else ((1.0, unit),)
    for size, name in steps:
        if abs(value) >= 0.9995 * size:
            return f"{digits(value / size)} {name}"
    size, name = steps[-1]
    return f"{digits(value / size)} {name}" if value else f"0 {steps[-1][1] if unit == 's' else name}"


def gibibytes(value: float | None, unit: bool = True) -> str:
    """GPU memory as the driver's own tools say it: `41.2 GiB`, `512 MiB`."""
    if value is None or not math.isfinite(value):
        return "NA"
    if not unit or value >= 2**30 or not value:
        return f"{digits(value / 2**30) if value else 0}{' GiB' if unit else ''}"
    return f"{value / 2**20:.0f} MiB"


def duration(seconds: float) -> str:
    """`4 s`, `2:05 min`, `3:20 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d} min"
    return f"{minutes // 60}:{minutes % 60:02d} h"


def plain(text: str) -> str:
    """The same in 7-bit characters, for `--ascii`."""
    return text.translate(_ASCII).encode("ascii", "replace").decode()


def shortened(text: str, width: int, *, ascii: bool, front: bool = False) -> str:
    """At most `width` cells, with dots where something was cut: at the end, or in front."""
    if cell_len(text) <= width:
        return text
    dots = plain("…") if ascii else "…"
    if front:
        return dots + set_cell_size(text[::-1], width - len(dots))[::-1].lstrip()
    return set_cell_size(text, width - len(dots)).rstrip() + dots


def plain_text(text: Text) -> Text:
    """The same for a styled line; cut without an ellipsis, which is not 7-bit."""
    return Text(plain(text.plain), no_wrap=text.no_wrap, overflow="crop" if text.no_wrap else None)


def headline(title: str, words: str, width: int, *, ascii: bool) -> Text:
    """A title, and at the right what the run does. Where both do not fit, the end of the title goes."""
    if ascii:
        title, words = plain(title), plain(words)
    if cell_len(title) + cell_len(words) + 4 > width:
        words = words.replace("running · ", "").replace("running | ", "")  # its numbers say so
    title = shortened(title, max(10, width - cell_len(words) - 4), ascii=ascii)
    text = Text(title, "bold", no_wrap=True, overflow="crop")
    return text.append(" " * max(2, width - cell_len(title) - cell_len(words) - 1) + words, "not bold")
