"""The card at the top of a script's screen: the answer first, as much of it as there is room for."""

from __future__ import annotations

import re
import textwrap

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from ....diagnosis.finding import Finding
from ....export.wording import readable
from ...finding_code import FindingCode
from ...format import plain, shortened
from .verdict import Kind, Opens, Verdict

#: Terminal heights below which the card keeps only its sentence, or leaves out the expectation.
_LOW, _TALL = 22, 32
#: Sign, and sign in ASCII, of each kind: nothing is said by colour alone.
_SIGNS: dict[Kind, tuple[str, str]] = {
    "problem": ("✗", "X"),
    "warning": ("!", "!"),
    "healthy": ("✓", "OK"),
    "crashed": ("✗", "X"),
    "asking": ("?", "?"),
    "neutral": ("·", "-"),
}
_STYLES: dict[Kind, str] = {
    "problem": "bold $text-error",
    "warning": "bold $text-warning",
    "healthy": "bold $text-success",
    "crashed": "bold $text-error",
    "asking": "bold $text-warning",
    "neutral": "bold",
}
_OLD, _NEW, _SMALL = "$text-error", "$text-success", "$foreground 60%"

#: The blank between a number and its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[mµn]?s|[kMG]?B|%)\b|%)")

#: A line of the card: texts with their styles.
Line = list[tuple[str, str]]


class VerdictCard(Static, can_focus=True):
    BINDINGS = [
        Binding("enter", "open", "Details", key_display="enter", tooltip="Show evidence and code"),
        Binding("j,down", "screen.next_finding", "Down", show=False),
    ]

    class Opened(Message):
        """Somebody wants to see what the card is about."""

        def __init__(self, opens: Opens, finding: Finding | None) -> None:
            super().__init__()
            self.opens = opens
            self.finding = finding

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="verdict", markup=False)
        self._ascii = ascii
        self._verdict = Verdict("neutral", "")
        self._shown = ""

    @property
    def kind(self) -> Kind:
        return self._verdict.kind

    @property
    def has_finding(self) -> bool:
        return self._verdict.finding is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "open" or bool(self._verdict.opens)

    def action_open(self) -> None:
        self.post_message(self.Opened(self._verdict.opens, self._verdict.finding))

    def on_click(self) -> None:
        if self._verdict.opens:
            self.action_open()

    def show(self, verdict: Verdict, code: FindingCode | None = None) -> None:
        """Show the verdict; `code` has the change, once it is known."""
        if verdict.opens != self._verdict.opens:
            self.call_later(self.refresh_bindings)
        self._verdict = verdict
        height = self.app.size.height
        framed = verdict.has_frame and height >= _LOW
        # Two columns of frame, two of padding, and one at the left of everything.
        width = max(20, self.app.size.width - (5 if framed else 3))
        rows = card_lines(verdict, code, width, height, ascii=self._ascii)
        if self._ascii:
            rows = [[(plain(text), style) for text, style in row] for row in rows]
        content = Content("\n").join(Content.assemble(*row) for row in rows)
        title, hint = self._spell(verdict.title), self._spell(self._small_print(verdict))
        shown = "\n".join((content.plain, title, hint, verdict.kind, str(framed)))
        if shown == self._shown:
            return
        self._shown = shown
        self.set_class(framed, "-framed")
        self.set_class(bool(verdict.opens), "-opens")
        for kind in _SIGNS:
            self.set_class(kind == verdict.kind, f"-{kind}")
        self.border_title = Content(title) if framed else None
        self.border_subtitle = Content(hint) if framed else None
        self.update(content)

    @staticmethod
    def _small_print(verdict: Verdict) -> str:
        cause = f"{verdict.finding.cause} · " if verdict.finding else ""
        return f"{cause}{verdict.hint}"

    def _spell(self, text: str) -> str:
        return plain(text) if self._ascii else text


def card_lines(
    verdict: Verdict, code: FindingCode | None, width: int, height: int, *, ascii: bool = False
) -> list[Line]:
    """Return the lines of the card for a terminal of that height, none wider than `width`."""
    sign = _SIGNS[verdict.kind][ascii] + " "
    style, indent = _STYLES[verdict.kind], " " * len(sign)
    room = width - len(sign)
    f = verdict.finding
    if f is None:
        return _plain_card(verdict, sign, room, height, ascii=ascii)
    sentence = readable(f.sentence)
    if height < _TALL:
        # Where the place has no line of its own it stands in front.
        said = sentence if height >= _LOW or not f.place else f"{f.place}: {sentence}"
        rows = _bold(sign, _wrap(said, room, 2 if height >= _LOW else 3, ascii=ascii), style)
        if height >= _LOW:
            rows.append([(indent, ""), *_brief_change(f, code, room, ascii=ascii)])
        return rows
    rows = _bold(sign, _wrap(verdict.headline, room, 1, ascii=ascii), style)
    rows += [[(indent + line, "")] for line in _wrap(sentence, room, 2, ascii=ascii)]
    rows += [[(indent, ""), *row] for row in _full_change(f, code, room, ascii=ascii)]
    if f.expect:
        rows.append([(indent, ""), ("Expect: ", "bold"), (shortened(f.expect, room - 8, ascii=ascii), "")])
    return rows


def _plain_card(verdict: Verdict, sign: str, room: int, height: int, *, ascii: bool) -> list[Line]:
    """Return the card of a state that has no finding: a line, and its details where there is room."""
    most = 1 if height < _LOW and verdict.kind != "crashed" else 2
    rows = _bold(sign, _wrap(verdict.headline, room, most, ascii=ascii), _STYLES[verdict.kind])
    brief = verdict.kind in ("crashed", "asking") and height < _LOW
    details = [" · ".join(verdict.details)] if verdict.kind == "crashed" else list(verdict.details)
    if brief:
        details = [" · ".join((*verdict.details[:1], verdict.hint))]
    elif verdict.hint and not verdict.has_frame:
        details.append(verdict.hint)
    if height >= _LOW or brief:
        indent = " " * len(sign)
        rows += [[(indent + line, "")] for text in details for line in _wrap(text, room, 2, ascii=ascii)]
    return rows


def _bold(sign: str, texts: list[str], style: str) -> list[Line]:
    first, *rest = texts or [""]
    indent = " " * len(sign)
    return [[(sign, style), (first, style)], *([(indent + text, style)] for text in rest)]


def _full_change(f: Finding, code: FindingCode | None, room: int, *, ascii: bool) -> list[Line]:
    """Return the place with the line before and after the change, or with what to do."""
    place = f"{f.place}  " if f.place else ""
    left = max(20, room - len(place))
    before, after = code.first_difference if code else ("", "")
    if before and after:
        old = (shortened(f"- {before}", left, ascii=ascii), _OLD)
        new = (shortened(f"+ {after}", left, ascii=ascii), _NEW)
        return [[(place, "bold"), old], [(" " * len(place), ""), new]]
    first, *rest = _wrap(f.fix.summary, left, 2, ascii=ascii) or [""]
    return [[(place, "bold"), (first, "")], *([(" " * len(place) + text, "")] for text in rest)]


def _brief_change(f: Finding, code: FindingCode | None, room: int, *, ascii: bool) -> Line:
    """Return the place and what to write there in one line."""
    place = f"{f.place}  " if f.place else ""
    _, after = code.first_difference if code else ("", "")
    text, style = (f"+ {after}", _NEW) if after else (f.fix.summary, "")
    return [(place, "bold"), (shortened(text, max(10, room - len(place)), ascii=ascii), style)]


def _wrap(text: str, width: int, most: int, *, ascii: bool) -> list[str]:
    """Return at most `most` lines; dots say that more was cut. A number and its unit stay together."""
    rows = textwrap.wrap(_BEFORE_UNIT.sub("\u00a0", text), width, break_on_hyphens=False)
    rows = [row.replace("\u00a0", " ") for row in rows]
    if len(rows) > most:
        rows = [*rows[: most - 1], shortened(" ".join(rows[most - 1 :]), width, ascii=ascii)]
    return rows
