"""Formats numbers for people, with three digits and a unit, and fits text into a width."""

from __future__ import annotations

import math

from rich.cells import cell_len, set_cell_size
from rich.text import Text

#: Shown where there is no value.
NOTHING = "–"
#: The sign of each direction of a trend.
SIGNS = {"rising": "▲", "falling": "▼", "flat": "=", "unclear": "?", "settling": "…"}

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_ASCII = str.maketrans("µ×–−→·°▲▼↓", "ux-->| ^vv") | {ord("±"): "+-", ord("…"): "..."}


def digits(value: float) -> str:
    """Format with three significant digits and no exponent: 1.23, 12.3, 123, 1,234."""
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def quantity(value: float, unit: str) -> str:
    """Format a value with its scaled unit: `12.4 ms`, `612 MB`, `1,204`."""
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
    """Format GPU memory as the driver's own tools do: `41.2 GiB`, `512 MiB`."""
    if value is None or not math.isfinite(value):
        return "NA"
    if not unit or value >= 2**30 or not value:
        return f"{digits(value / 2**30) if value else 0}{' GiB' if unit else ''}"
    return f"{value / 2**20:.0f} MiB"


def duration(seconds: float) -> str:
    """Format seconds as `4 s`, `2:05 min` or `3:20 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d} min"
    return f"{minutes // 60}:{minutes % 60:02d} h"


def plain(text: str) -> str:
    """Replace everything but 7-bit characters, for `--ascii`."""
    return text.translate(_ASCII).encode("ascii", "replace").decode()


def shortened(text: str, width: int, *, ascii: bool, front: bool = False) -> str:
    """Cut the text to `width` cells, with dots where something was cut: at the end or in `front`."""
    if cell_len(text) <= width:
        return text
    dots = plain("…") if ascii else "…"
    if front:
        return dots + set_cell_size(text[::-1], width - len(dots))[::-1].lstrip()
    return set_cell_size(text, width - len(dots)).rstrip() + dots


def plain_text(text: Text) -> Text:
    """Return `plain` of a styled text; cut without an ellipsis, which is not ASCII."""
    return Text(plain(text.plain), no_wrap=text.no_wrap, overflow="crop" if text.no_wrap else None)


def headline(title: str, status: str, width: int, *, ascii: bool) -> Text:
    """Return the title and, at the right, the status; cut the title where both do not fit."""
    if ascii:
        title, status = plain(title), plain(status)
    if cell_len(title) + cell_len(status) + 4 > width:
        status = status.replace("running · ", "").replace("running | ", "")  # the numbers say it
    title = shortened(title, max(10, width - cell_len(status) - 4), ascii=ascii)
    text = Text(title, "bold", no_wrap=True, overflow="crop")
    return text.append(" " * max(2, width - cell_len(title) - cell_len(status) - 1) + status, "not bold")
