"""Records an app's screen and writes it as an animated SVG, in which each row is stored once per content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.filter import ANSIToTruecolor
from textual.strip import Strip

#: Pixels of a character cell, and of the margin around all of them.
WIDTH, HEIGHT, MARGIN = 8.4, 17, 8
FONT = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
#: Seconds for which the last picture stays.
LAST = 4.0


@dataclass(frozen=True, slots=True)
class Frame:
    at: float
    """Seconds since the beginning."""
    rows: tuple[Strip, ...]


class Recording:
    """Pictures of a screen, each with its time."""

    def __init__(self) -> None:
        self._frames: list[Frame] = []

    def take(self, app: App[None], at: float) -> None:
        self._frames.append(Frame(at, tuple(app.screen._compositor.render_strips())))

    def write(self, path: Path, app: App[None]) -> None:
        """Write the pictures as a loop."""
        colours = ANSIToTruecolor(app.ansi_theme)
        ends = [*(frame.at for frame in self._frames[1:]), self._frames[-1].at + LAST]
        whole, height = ends[-1], len(self._frames[0].rows)
        width = self._frames[0].rows[0].cell_length
        size = f"{width * WIDTH + 2 * MARGIN:.0f} {height * HEIGHT + 2 * MARGIN:.0f}"
        background = app.theme_variables["background"]
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">',
            f'<rect width="100%" height="100%" rx="8" fill="{background}"/>',
            f'<g font-family="{FONT}" font-size="14" transform="translate({MARGIN},{MARGIN})">',
        ]
        for y in range(height):
            for begin, end, row in self._stretches(y, ends):
                drawn = _draw(row.apply_filter(colours, app.screen.background_colors[1]), y, background)
                if drawn:
                    parts.append(f"<g>{_visible(begin / whole, end / whole, whole)}{drawn}</g>")
        path.write_text("\n".join([*parts, "</g>", "</svg>", ""]), encoding="utf-8")

    def _stretches(self, y: int, ends: list[float]) -> Iterator[tuple[float, float, Strip]]:
        """Yield from when to when a row had the same content."""
        begin = 0.0
        for n, frame in enumerate(self._frames):
            if n + 1 == len(self._frames) or self._frames[n + 1].rows[y] != frame.rows[y]:
                yield begin, ends[n], frame.rows[y]
                begin = ends[n]


def _visible(begin: float, end: float, whole: float) -> str:
    """Return what shows an element during that part of the loop only."""
    if begin <= 0 and end >= 1:
        return ""
    values, times = ["visible"], [0.0]
    if begin > 0:
        values, times = ["hidden", "visible"], [0.0, begin]
    if end < 1:
        values, times = [*values, "hidden"], [*times, end]
    moments = ";".join(f"{time:.4f}" for time in times)
    return (
        f'<animate attributeName="visibility" values="{";".join(values)}" keyTimes="{moments}"'
        f' calcMode="discrete" dur="{whole:.2f}s" repeatCount="indefinite"/>'
    )


def _draw(row: Strip, y: int, background: str) -> str:
    """Return a row's backgrounds and texts."""
    boxes, texts, x = "", "", 0
    for segment in Segment.simplify(row):
        style, cells = segment.style or Style(), segment.cell_length
        left, wide = f"{x * WIDTH:.1f}", f"{cells * WIDTH:.1f}"
        fill = _colour(style, back=True, default=background)
        if fill != background:
            boxes += f'<rect x="{left}" y="{y * HEIGHT}" width="{wide}" height="{HEIGHT}" fill="{fill}"/>'
        if segment.text.strip():
            text = escape(segment.text.replace(" ", "\u00a0"))  # others collapse, and the rest is stretched
            look = ' font-weight="bold"' if style.bold else ""
            look += ' font-style="italic"' if style.italic else ""
            texts += (
                f'<text x="{left}" y="{(y + 0.78) * HEIGHT:.1f}" textLength="{wide}"'
                f' fill="{_colour(style, back=False, default="#e0e0e0")}"{look}>{text}</text>'
            )
        x += cells
    return boxes + texts


def _colour(style: Style, *, back: bool, default: str) -> str:
    colour = style.bgcolor if back != bool(style.reverse) else style.color
    return colour.get_truecolor().hex if colour is not None and not colour.is_default else default
