"""A small curve in one line of text. Pure."""

from __future__ import annotations

import itertools

_BARS = "▁▂▃▄▅▆▇█"


def spark(values: tuple[float, ...], columns: int = 0, top: float = 0.0) -> str:
    """Return a curve from zero to `top` or the largest value, in so many columns or one for each value."""
    if columns:
        values = tuple(max(part) for part in _parts(values, columns) if part)
    top = top or max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(7, max(0, int(8 * value / top)))] for value in values)


def _parts(values: tuple[float, ...], count: int) -> list[tuple[float, ...]]:
    edges = [round(n * len(values) / count) for n in range(count + 1)]
    return [values[a:b] for a, b in itertools.pairwise(edges)]
