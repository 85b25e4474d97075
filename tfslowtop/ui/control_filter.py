"""Nothing but printable characters reaches the terminal, whoever paints them: source code has any."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from ..clean import UNSAFE

_UNSAFE = re.compile(f"[{UNSAFE}]")


class SafeLines(LineFilter):
    """These characters have no width, so they are left out and everything else stays in its place."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isprintable()
            else Segment(_UNSAFE.sub("", segment.text), segment.style, segment.control)
            for segment in segments
        ]
