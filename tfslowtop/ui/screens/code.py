"""A scenario's claim in full, and its slow and its fixed iteration side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Static

from ...catalogue.code_view import Line, applied, side_by_side
from ...catalogue.find import Entry
from ...state.verdict import live
from ..code_text import highlight_lines, wrap_line
from ..frame import Frame
from .live import LiveScreen, Page

#: Columns by which the continuation of a wrapped line is indented further.
_HANGING = 8


class CodeScreen(LiveScreen):
    AUTO_FOCUS = "#code-page"
    BINDINGS = [
        Binding("c", "close", "Back", show=False),
        Binding("f", "file", "Whole file"),
    ]

    def __init__(self, entry: Entry, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._entry = entry
        self._card = Static(id="code-card", markup=False)
        self._sides = (Static(classes="code", markup=False), Static(classes="code", markup=False))
        self._titles = (
            Static(classes="code-title", markup=False),
            Static(classes="code-title", markup=False),
        )
        self._file = Static(id="code-file", markup=False)
        self._on: tuple[str, ...] | None = None
        self._verdict = ""

    def compose_body(self) -> ComposeResult:
        with Page(id="code-page"):
            yield self._card
            with Container(id="code-sides"):
                for head, side in zip(self._titles, self._sides, strict=True):
                    with Vertical(classes="code-side"):
                        yield head
                        yield side
            yield self._file

    def on_mount(self) -> None:
        self._file.display = False
        self.headline(self._entry.title)
        self._describe()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def show_entry(self, entry: Entry) -> None:
        """Show another scenario, or the same one after its file was edited."""
        self._entry, self._on, self._verdict = entry, None, ""
        self._describe()
        self._draw()

    def show(self, frame: Frame) -> None:
        self.headline(frame.title, frame.status)
        scenario = self._entry.scenario
        if scenario is not None:
            self._verdict = live(frame.view, scenario.base, scenario.cured_by, scenario.kind).words
        self._describe()
        if frame.view.fixes != self._on:
            self._on = frame.view.fixes
            self._draw()

    def _describe(self) -> None:
        scenario = self._entry.scenario
        if scenario is None:
            return
        text = Text()
        rows = (
            ("Claim", scenario.claim + (f" (article {scenario.source})" if scenario.source else "")),
            ("Kind", scenario.kind),
            ("Measured", self._verdict or "not yet"),
            ("How it works", scenario.mechanism),
            ("The article's example", scenario.example),
        )
        width = max(30, (self._card.size.width or self.app.size.width) - 2)
        for name, words in rows:
            if not words:
                continue
            text.append(name + "\n" if text.plain == "" else f"\n{name}\n", "bold")
            text.append(
                "\n".join(
                    textwrap.wrap(
                        self.spell(words), min(width, 100), initial_indent="  ", subsequent_indent="  "
                    )
                )
            )
        self.write(self._card, text)

    def _draw(self) -> None:
        scenario = self._entry.scenario
        if scenario is None or not self.is_mounted:
            return
        try:
            source = self._entry.path.read_text(encoding="utf-8")
            slow = applied(source, scenario.base)
            beyond = set(self._on or ()) - set(scenario.base)
            fixes = self._on if self._on and beyond else (*scenario.base, *scenario.cured_by)
            fixed = applied(source, fixes)
        except (OSError, ValueError, SyntaxError) as error:
            self._titles[0].update(Text(self.spell(f"Cannot show the file: {error}")))
            return
        order = [fix.id for fix in scenario.fixes]
        numbers = ", ".join(str(order.index(id) + 1) for id in order if id in fixes)
        running = "as it runs now" if beyond else "fixed"
        self._titles[0].update(Text(f"slow{self._with(scenario.base, order)}", "bold"))
        word = "fix" if numbers.isdigit() else "fixes"
        self._titles[1].update(Text(f"{running}, with {word} {numbers}" if numbers else running, "bold"))
        for side, marked in zip(self._sides, side_by_side(slow, fixed), strict=True):
            side.update(self._rendered(marked, side.size.width))
        if self._file.display:
            whole = [Line(text) for text in source.splitlines()]
            self._file.update(self._rendered(whole, self._file.size.width))

    @staticmethod
    def _with(fixes: Sequence[str], order: Sequence[str]) -> str:
        numbers = ", ".join(str(order.index(id) + 1) for id in fixes)
        return f", with fix {numbers} as on the other side" if numbers else ""

    def _rendered(self, marked: Sequence[Line], width: int) -> Content:
        """Return the lines with `-` or `+` before those that differ; long lines are wrapped visibly."""
        width = max(20, width)
        texts = [self.spell(line.text) for line in marked]
        parts = highlight_lines(texts, ansi=self.app.current_theme.ansi)
        rows: list[Content] = []
        for line, content in zip(marked, parts, strict=False):
            style = {"-": "bold $text-error", "+": "bold $text-success"}.get(line.sign, "")
            gutter = Content.styled(f"{line.sign} ", style)
            indent = len(line.text) - len(line.text.lstrip()) + _HANGING
            for n, piece in enumerate(wrap_line(content, width - 2, indent)):
                body = piece.stylize("bold") if line.sign != " " else piece
                rows.append(Content.assemble(gutter if n == 0 else "  ", body))
        return Content("\n").join(rows)

    def action_file(self) -> None:
        """Show the whole file below: what the iteration calls is defined there."""
        self._file.display = not self._file.display
        self.call_after_refresh(self._draw)
        if self._file.display:
            self.call_after_refresh(self._file.scroll_visible, top=True, animate=False)
