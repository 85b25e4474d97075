"""One finding in full: what to do about it, the change in the user's own lines, and the evidence."""

from __future__ import annotations

import difflib
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Static

from ...agent.protocol.names import FIX_REFUSED, FIX_ROLLED_BACK
from ...diagnosis.finding import Finding
from ...export.findings import path_from_here
from ...export.wording import readable
from ...state.live_fixes import is_kept
from ..code_text import highlight_lines, wrap_line
from ..finding_code import CodeCache, CodeWanted, FindingCode, code_key
from ..format import plain, plain_text, quantity
from ..frame import Frame
from ..handover import editor_command, hand_over, scenario_command
from ..widgets.charts.chart import Chart, curve_mode
from ..widgets.charts.drawing import OUTLIERS
from ..widgets.charts.panel import panel_title
from ..widgets.effect_card import ratio_words
from .detail import show_curve
from .live import LiveScreen, Page

#: Lines of the user's code shown before and after the culprit.
_AROUND = 5
#: Columns by which the continuation of a wrapped line is indented further.
_HANGING = 8
#: Columns that text is wrapped at: longer lines are hard to read.
_READABLE = 110
_OLD, _NEW, _SMALL = "$text-error", "$text-success", "$foreground 60%"
_ADVICE = "Not tried on this program."
_READONLY = "Read-only: keys that start other programs are off."


class FindingScreen(LiveScreen):
    AUTO_FOCUS = "#finding-page"
    BINDINGS = [
        Binding("y", "copy", "Copy patch", tooltip="Copy the change, for git apply or patch"),
        Binding("E", "edit", "Edit", tooltip="Open the line in $VISUAL or $EDITOR"),
        Binding("v", "demonstrate", "See it happen", tooltip="Open the scenario that shows this cause"),
    ]

    def __init__(
        self, finding: Finding, codes: CodeCache, *, ascii: bool = False, readonly: bool = False
    ) -> None:
        """`codes` belongs to the app, which reads what the screen asks for."""
        super().__init__(ascii=ascii)
        self._finding = finding
        self._codes = codes
        self._readonly = readonly
        self._chart = Chart(
            mode=curve_mode(ascii=ascii), outliers=OUTLIERS, formatter=self._formatted, id="finding-chart"
        )
        self._caption = Static(classes="part", markup=False)
        self._unit = "s"
        self._evidence = Static(classes="part", markup=False)
        self._change = Static(classes="part code", id="finding-change", markup=False)
        self._why = Static(classes="part", markup=False)
        self._source = Static(classes="part code", id="finding-source", markup=False)
        self._drawn: tuple[object, ...] = ()
        """What the code on the screen was drawn from."""

    def compose_body(self) -> ComposeResult:
        with Page(id="finding-page"):
            yield self._evidence
            yield self._change
            yield self._why
            yield self._source
            yield self._caption
            yield self._chart

    def _formatted(self, value: float) -> str:
        return self.spell(quantity(value, self._unit)) if value else "0"

    @property
    def _code(self) -> FindingCode | None:
        return self._codes.get(code_key(self._finding))

    # Showing

    def show(self, frame: Frame) -> None:
        """Show the finding as it is now, or as it last was if it has gone."""
        view = frame.view
        again = [f for f in view.findings if f.key == self._finding.key]
        self._finding = again[0] if again else self._finding
        f = self._finding
        self.headline(self.spell(f.label), frame.status)
        width = min(_READABLE, self.app.size.width - 3)
        for part, text in (
            (self._evidence, describe(f, width, tried(f, frame), ascii=self.ascii)),
            (self._why, explain(f, width)),
        ):
            self.write(part, plain_text(text) if self.ascii else text)
        self._show_code()
        panel = view.panel(f.curve) or view.panel("latency")
        if panel is not None:
            self._unit = panel.unit
            self.write(self._caption, Text(self.spell(panel_title(panel.name)), "bold"))
            show_curve(self._chart, panel, view.marks, frame.fixes, time.monotonic())

    def _show_code(self) -> None:
        f, code = self._finding, self._code
        if code is None:
            self.post_message(CodeWanted(f))
            return
        width, ansi = self.app.size.width - 3, self.app.current_theme.ansi
        drawn = (code, f.line, width, ansi)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self._change.update(change_rows(f, code, width, ansi=ansi, ascii=self.ascii))
        self._source.update(source_rows(f, code.lines, width, ansi=ansi, ascii=self.ascii))
        self._source.display = bool(code.lines)
        self.refresh_bindings()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("copy", "edit", "demonstrate") and self.why_not(action):
            return False
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str:
        """Say in a sentence why a key of this screen cannot act; empty if it can."""
        f, code = self._finding, self._code
        if action == "copy" and not (code and code.patch):
            return "There is no patch: the change cannot be written into your lines as a whole."
        if action in ("edit", "demonstrate") and self._readonly:
            return _READONLY
        if action == "edit" and not f.file:
            return "This finding is not about a line of your code."
        if action == "edit" and not editor_command(f.file, f.line):
            return "No editor is set: set EDITOR, for example with `export EDITOR=nano`."
        if action == "demonstrate" and not f.scenario:
            return "No scenario shows this cause."
        return ""

    def action_copy(self) -> None:
        code = self._code
        if code is not None and code.patch:
            self.app.copy_to_clipboard(code.patch)
            rows = code.patch.splitlines()[2:]
            new, old = (sum(row.startswith(sign) for row in rows) for sign in "+-")
            self.app.notify(f"Patch copied (+{new} -{old}): run git apply and paste it.")

    def action_edit(self) -> None:
        f = self._finding
        before = _modified(f.file)
        failure = hand_over(self.app, editor_command(f.file, f.line))
        if failure:
            self.app.notify(failure, severity="warning")
        elif _modified(f.file) != before:
            self.app.notify("The running program keeps the old code until you restart it.")

    def action_demonstrate(self) -> None:
        scenario = self._finding.scenario
        failure = hand_over(self.app, scenario_command(scenario, ascii=self.ascii)) if scenario else ""
        if failure:
            self.app.notify(f"The scenario failed: {failure}", severity="warning")


def _modified(file: str) -> float:
    try:
        return Path(file).stat().st_mtime
    except OSError:
        return 0.0


def tried(f: Finding, frame: Frame) -> str:
    """Say how to try the fix in the running script, or what it brought; empty if it cannot be tried there."""
    offer = next((o for o in frame.view.offers if o.id == f.fix.live), None)
    key = next((n + 1 for n, fix in enumerate(frame.fixes[:9]) if fix.id == f.fix.live), 0)
    if offer is None or not key:
        return ""
    if offer.status in (FIX_REFUSED, FIX_ROLLED_BACK):
        return f"{offer.status.capitalize()}: {offer.sentence}"
    marks = [m for m in frame.view.marks if m.changed == (offer.id,) and offer.id in m.fixes]
    if not marks:
        again = "" if frame.view.ended else f"{key} tries it in the running script: {offer.title}."
        return f"{_ADVICE} {again}".rstrip()
    effect, remove = marks[-1].effect, f" {key} removes it." if offer.id in frame.view.fixes else ""
    if effect is None:
        return f"Measuring … {offer.sentence}{remove}"
    words = f"{ratio_words(effect)}. "
    if offer.promised:
        kept = "kept" if is_kept(offer.promised, effect.ratio) else "not kept"
        words += f"Promised: about ×{offer.promised:.3g}; {kept}. "
    return f"{words}{offer.sentence}{remove}"


def describe(f: Finding, width: int, tried: str = "", *, ascii: bool = False) -> Text:
    """Return what was measured, what to do about it, what to expect of that, and what it brought."""
    text = Text()
    cost = f"{f.cost_words[:1].upper()}{f.cost_words[1:]}"
    _append_part(text, "X " if ascii else "✗ ", readable(f.sentence), width, "bold")
    _append_part(text, "  ", f"{cost}; seen since step {f.since_step:,}; confidence {f.confidence}.", width)
    text.append("\n")
    _append_part(text, "Fix     ", f.fix.summary, width)
    _append_part(text, "Expect  ", f.expect if tried else f"{f.expect} {_ADVICE}".lstrip(), width)
    _append_part(text, "Tried   ", tried, width)
    text.rstrip()
    return text


def explain(f: Finding, width: int) -> Text:
    """Return why it happens, and what else it explains."""
    text = Text()
    _append_part(text, "Why     ", f.mechanism, width)
    for symptom in f.symptoms:
        _append_part(text, "Also    ", f"explains {symptom.cause}: {readable(symptom.sentence)}", width)
    text.rstrip()
    return text


def _append_part(text: Text, label: str, words: str, width: int, style: str = "") -> None:
    rows = textwrap.wrap(words, max(20, width - len(label)), break_on_hyphens=False)
    for n, row in enumerate(rows):
        text.append(label if n == 0 else " " * len(label), "bold")
        text.append(f"{row}\n", style)


def change_rows(f: Finding, code: FindingCode, width: int, *, ansi: bool, ascii: bool) -> Content:
    """Return the change as a diff; where there is none, where to find an example."""
    if code.patch:
        rows = code.patch.splitlines()[2:]
        title = f"{path_from_here(f.file)}  the change, as a patch"
    elif code.before:
        old, new = code.before.splitlines(), code.after.splitlines()
        rows = [row for row in difflib.ndiff(old, new) if not row.startswith("?")]
        rows = [row[0] + row[2:] for row in rows]
        title = f"{path_from_here(f.file)}  the change, as a sketch"
    else:
        return Content.styled(
            _spelled(f"`tfslowtop help {f.cause}` has an example of the change.", ascii), _SMALL
        )
    coloured = highlight_lines([_spelled(row[1:], ascii) for row in rows], ansi=ansi)
    lines = [Content.styled(_spelled(title, ascii), "bold")]
    for row, body in zip(rows, coloured, strict=True):
        if row.startswith(("@@", "\\")):
            lines.append(Content.styled(row, _SMALL))
            continue
        style = {"-": _OLD, "+": _NEW}.get(row[:1], "")
        indent = len(row) - len(row[1:].lstrip()) + _HANGING
        for n, piece in enumerate(wrap_line(Content(body.plain) if style else body, width - 2, indent)):
            sign = Content.styled(f"{row[:1] if n == 0 else ' '} ", f"bold {style}" if style else "")
            lines.append(Content.assemble(sign, piece.stylize(style) if style else piece))
    return Content("\n").join(lines)


def source_rows(f: Finding, lines: Sequence[str], width: int, *, ansi: bool, ascii: bool) -> Content:
    """Return the lines around the culprit, which is marked; long lines are wrapped."""
    if not 0 < f.line <= len(lines):
        return Content("")
    first, last = max(1, f.line - _AROUND), min(len(lines), f.line + _AROUND)
    # All lines from the first on: a string may have begun before those that are shown.
    coloured = highlight_lines([_spelled(line.rstrip("\n"), ascii) for line in lines[:last]], ansi=ansi)
    rows = [Content.styled(_spelled(f"{path_from_here(f.file)}:{f.line}  as it runs", ascii), "bold")]
    for number in range(first, last + 1):
        here, body = number == f.line, coloured[number - 1]
        indent = len(body.plain) - len(body.plain.lstrip()) + _HANGING
        for n, piece in enumerate(wrap_line(body, width - 9, indent)):
            gutter = f"{'>' if here and n == 0 else ' '} {number if n == 0 else '':>5}  "
            if here:
                rows.append(Content.assemble((gutter, f"bold {_OLD}"), piece.stylize("bold on $panel")))
            else:
                rows.append(Content.assemble((gutter, _SMALL), piece))
    return Content("\n").join(rows)


def _spelled(text: str, ascii: bool) -> str:
    """Return the text in ASCII where that is asked for."""
    return plain(text) if ascii else text
