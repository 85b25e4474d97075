"""One finding in full: the evidence, the user's lines, why it happens, and what to write instead."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from ...diagnosis.finding import Finding
from ..finding_code import CodeCache, CodeWanted, code_key
from ..format import plain_text, quantity
from ..frame import Frame
from ..widgets.charts.chart import Chart
from ..widgets.charts.drawing import OUTLIERS, Mode
from ..widgets.charts.panel import panel_title
from .detail import show_curve
from .live import LiveScreen, Page

#: Lines of the user's code shown before and after the culprit.
_AROUND = 5


class FindingScreen(LiveScreen):
    AUTO_FOCUS = "#finding-page"

    def __init__(self, finding: Finding, codes: CodeCache, *, ascii: bool = False) -> None:
        """`codes` belongs to the app, which reads what the screen asks for."""
        super().__init__(ascii=ascii)
        self._finding = finding
        self._codes = codes
        mode: Mode = "ascii" if ascii else "block"
        self._chart = Chart(mode=mode, outliers=OUTLIERS, formatter=self._formatted, id="finding-chart")
        self._caption = Static(classes="part", markup=False)
        self._unit = "s"
        self._evidence = Static(classes="part", markup=False)
        self._code = Static(classes="part code", markup=False)
        self._fix = Static(classes="part", markup=False)

    def compose_body(self) -> ComposeResult:
        with Page(id="finding-page"):
            yield self._evidence
            yield self._code
            yield self._fix
            yield self._caption
            yield self._chart

    def _formatted(self, value: float) -> str:
        return self.spell(quantity(value, self._unit)) if value else "0"

    def show(self, frame: Frame) -> None:
        """Show the finding as it is now, or as it last was if it has gone."""
        view = frame.view
        again = [f for f in view.findings if f.key == self._finding.key]
        self._finding = again[0] if again else self._finding
        f = self._finding
        self.headline(self.spell(f.label), frame.status)
        self.write(self._evidence, self._text(evidence(f)))
        self._show_code()
        panel = view.panel(f.curve) or view.panel("latency")
        if panel is not None:
            self._unit = panel.unit
            self.write(self._caption, Text(self.spell(panel_title(panel.name)), "bold"))
            show_curve(self._chart, panel, (), (), time.monotonic())

    def _show_code(self) -> None:
        f = self._finding
        found = self._codes.get(code_key(f))
        if found is None:
            self.post_message(CodeWanted(f))
            return
        self.write(self._code, self._text(source(f, found.lines, self.app.size.width - 3)))
        self.write(self._fix, self._text(describe_fix(f, found.change)))

    def _text(self, text: Text) -> Text:
        return plain_text(text) if self.ascii else text


def evidence(f: Finding) -> Text:
    """Return what was measured, what it costs and what else it explains."""
    text = Text()
    text.append(f"{f.sentence}\n", "bold")
    text.append(
        f"{f.cost_words[:1].upper()}{f.cost_words[1:]}; seen since step {f.since_step:,}; "
        f"confidence {f.confidence}.\n"
    )
    for symptom in f.symptoms:
        text.append(f"Also explains {symptom.cause}: {symptom.sentence}\n")
    return text


def source(f: Finding, lines: Sequence[str], width: int) -> Text:
    """Return the lines around the culprit, which is marked; long lines are wrapped."""
    text = Text()
    if not lines or not 0 < f.line <= len(lines):
        return text
    text.append(f"{_from_here(f.file)}\n", "italic")
    for number in range(max(1, f.line - _AROUND), min(len(lines), f.line + _AROUND) + 1):
        here = number == f.line
        row = f"{'>' if here else ' '} {number:5}  {lines[number - 1].rstrip().expandtabs(4)}"
        rows = textwrap.wrap(row, width, subsequent_indent=" " * 17, break_on_hyphens=False) or [row]
        text.append("\n".join(rows) + "\n", "bold reverse" if here else "")
    return text


def describe_fix(f: Finding, change: str) -> Text:
    """Return why it happens, what to write instead, and what to expect of that."""
    text = Text()
    text.append("Why   ", "bold")
    text.append(f"{f.mechanism}\n")
    text.append("Fix   ", "bold")
    text.append(f"{f.fix.summary}\n\n")
    for line in change.splitlines():
        text.append(f"    {line}\n", "italic" if line.startswith("# ") else "")
    if f.expect:
        text.append("\nExpect  ", "bold")
        text.append(f"{f.expect}\n")
    if f.scenario:
        text.append(f"\nSee it happen: tfslowtop {f.scenario}\n")
    return text


def _from_here(file: str) -> str:
    """Return the path relative to the directory that tfslowtop was started in, if the file is below it."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file
