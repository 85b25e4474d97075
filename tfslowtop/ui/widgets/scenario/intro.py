"""What a scenario is about, shown where its curves will be: the claim, the last run here, and the code."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ....catalogue.code_view import applied
from ....catalogue.find import Entry
from ....catalogue.measured import Measured
from ....catalogue.search import origin, symptom
from ...code_text import highlight_lines, wrap_line
from ...format import plain
from .last_run import describe_last_run

#: Columns that prose is wrapped at, and by which the continuation of a line of code is indented.
_READABLE, _HANGING = 100, 8
#: Columns of a label.
_LABEL = 8
_STYLES = {"-": "$text-error", "+": "$text-success"}


class Intro(VerticalScroll, can_focus=False):
    """A page about a scenario that does not run."""

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="intro")
        self._ascii = ascii
        self._entry: Entry | None = None
        self._measured: Measured | None = None
        self._about = Static(id="intro-about", markup=False)
        self._code = Static(id="intro-code", markup=False)
        self._why = Static(id="intro-why", markup=False)

    def compose(self) -> ComposeResult:
        yield self._about
        yield self._code
        yield self._why

    def show(self, entry: Entry, measured: Measured | None) -> None:
        self._entry, self._measured = entry, measured
        self._code.update("")
        self.scroll_home(animate=False)
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        entry = self._entry
        if entry is None or entry.scenario is None:
            return
        measured = self._measured
        last = describe_last_run(measured, ascii=self._ascii) if measured else "not measured yet"
        style = "bold $text-success" if measured else ""
        parts = [
            ("Claim", entry.scenario.claim, ""),
            ("Here", last, style),
            ("Watch", symptom(entry).watch, ""),
        ]
        self._about.update(self._prose(parts))
        self._why.update(self._prose([("Why", entry.scenario.mechanism, ""), ("Source", origin(entry), "")]))
        # The text first: whoever moves through the list does not wait for code that is not read.
        self.call_after_refresh(self._show_code, entry)

    @property
    def _width(self) -> int:
        return max(30, (self.size.width or 76) - 2)

    def _prose(self, parts: Sequence[tuple[str, str, str]]) -> Content:
        """Return texts with their labels and styles, wrapped."""
        width = min(self._width, _READABLE) - _LABEL
        rows: list[Content] = []
        for label, words, style in parts:
            for n, row in enumerate(textwrap.wrap(self._spell(words), width, break_on_hyphens=False)):
                head = Content.styled(f"{label if n == 0 else '':{_LABEL}}", "bold")
                rows.append(Content.assemble(head, (row, style)))
        return Content("\n").join(rows)

    def _show_code(self, entry: Entry) -> None:
        scenario = entry.scenario
        if entry is not self._entry or scenario is None or not self.is_mounted:
            return
        try:
            source = entry.path.read_text(encoding="utf-8")
            slow = applied(source, scenario.base)
            fixed = applied(source, (*scenario.base, *scenario.cured_by))
        except (OSError, ValueError, SyntaxError):
            return  # starting it will say what is wrong
        self._code.update(self._diff(slow, fixed))

    def _diff(self, slow: Sequence[str], fixed: Sequence[str]) -> Content:
        """Return both versions in one: lines of the slow one with `-`, of the fixed one with `+`."""
        marked: list[str] = []
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, slow, fixed, autojunk=False).get_opcodes():
            if tag == "equal":
                marked += [f"  {row}" for row in slow[i1:i2]]
            else:
                marked += [f"- {row}" for row in slow[i1:i2]] + [f"+ {row}" for row in fixed[j1:j2]]
        texts = [self._spell(row[2:]) for row in marked]
        rows = [Content.styled("slow (-) and fixed (+)", "bold")]
        for row, body in zip(marked, highlight_lines(texts, ansi=self.app.current_theme.ansi), strict=True):
            style = _STYLES.get(row[0], "")
            indent = len(row[2:]) - len(row[2:].lstrip()) + _HANGING
            for n, piece in enumerate(
                wrap_line(Content(body.plain) if style else body, self._width - 2, indent)
            ):
                sign = Content.styled(f"{row[0] if n == 0 else ' '} ", f"bold {style}" if style else "")
                rows.append(Content.assemble(sign, piece.stylize(style) if style else piece))
        return Content("\n").join(rows)

    def _spell(self, text: str) -> str:
        return plain(text) if self._ascii else text
