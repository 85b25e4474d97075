"""Keeps control characters from the terminal, whoever paints them: source code may contain any."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from ..clean import UNSAFE

_UNSAFE = re.compile(f"[{UNSAFE}]")


class ControlFilter(LineFilter):
    """Drops these characters. They have no width, so everything else stays in its place."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isprintable()
            else Segment(_UNSAFE.sub("", segment.text), segment.style, segment.control)
            for segment in segments
        ]
