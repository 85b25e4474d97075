"""Rows of the machine screen: a label, wrapped text, and a small curve. Pure: rows in, text out."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from ....agent.protocol.names import GaugeName
from ...format import plain
from ..charts.drawing import CurveData, draw
from ..charts.scale import nice_ceiling

#: Shown for what the system does not report.
NA = "NA"

_LABEL = 13


@dataclass(frozen=True, slots=True)
class MeterRow:
    label: str
    parts: tuple[str, ...]
    """The text beside the label; lines break between these parts first."""
    history: GaugeName | None = None
    """The name of the reading that its curve shows."""
    upper: float | None = None
    """The value at the top of the curve; None takes a round number above all values."""
    trouble: bool = False
    """Whether this slows the program down: marked by a sign, not by colour alone."""
    title: bool = False


def write_rows(
    rows: Sequence[MeterRow],
    histories: Mapping[GaugeName, Sequence[float]],
    width: int,
    ascii: bool,
    colour: str = "",
) -> Text:
    """Return all rows as one text, at most `width` characters wide; `colour` is for the curves."""
    columns = 10 if width < 70 else 16 if width < 100 else 24
    text = Text()
    for n, row in enumerate(rows):
        room = max(16, width - _LABEL - (columns + 2 if row.history else 0))
        words = tuple(_spell(part, ascii) for part in row.parts)
        lines = wrap(words, room, max(16, width - _LABEL), _spell(" · ", ascii))
        style = "bold" if row.title or row.trouble else "not bold"
        sign = "! " if row.trouble else "" if row.title else "  "
        text.append(("\n" if n else "") + _spell(f"{sign}{row.label}", ascii).ljust(_LABEL), style)
        text.append(lines[0], style)
        if row.history:
            text.append(" " * (room - len(lines[0]) + 2))
            text.append(spark(histories.get(row.history, ()), columns, row.upper, ascii), colour)
        text.append("".join("\n" + " " * _LABEL + line for line in lines[1:]), style)
    return text


def wrap(parts: tuple[str, ...], first: int, rest: int, dot: str = " · ") -> list[str]:
    """Join parts with dots and wrap them, between parts where that is possible.

    `first` is the width of the first line, beside the curve, and `rest` that of the lines below it.
    """
    lines: list[str] = []
    for part in parts:
        width = first if len(lines) == 1 else rest
        if lines and len(lines[-1]) + len(dot) + len(part) <= width:
            lines[-1] += dot + part
        else:
            lines += textwrap.wrap(part, rest if lines else first)
    return lines or [""]


def spark(values: Sequence[float], columns: int, upper: float | None, ascii: bool) -> str:
    """Return a curve of one line, the newest value at the right; many values share a column."""
    if not len(values):
        return ""
    per_column = math.ceil(len(values) / columns)
    padded = np.full(per_column * columns, np.nan)
    padded[-len(values) :] = values
    cells = padded.reshape(columns, per_column)
    known = np.isfinite(cells)
    count = known.sum(axis=1)
    means = np.where(count > 0, np.where(known, cells, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)
    largest = float(np.nanmax(means)) if count.any() else 0.0
    top = upper if upper is not None and upper > 0 else nice_ceiling(1.1 * largest) if largest > 0 else 1.0
    # An eighth stays free at the top, so that the curves of two rows do not touch.
    rows = draw(CurveData.of(np.minimum(means, top)), 1, top * 8 / 7, "ascii" if ascii else "block")
    return "".join(span for span, _ in rows[0])


def _spell(text: str, ascii: bool) -> str:
    return plain(text) if ascii else text
