"""Makes text from outside safe to print: names, messages and arguments are whatever a script says they are.

A file name may hold an escape sequence that sets the terminal's title or writes the clipboard, a newline
that forges a line of ours, or an override of the writing direction that swaps words. Each such character is
shown as Python would escape it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from .agent.protocol.events import Failed, Output

#: C0 and C1 controls, line separators, marks and overrides of the direction, lone surrogates, invisible tags.
UNSAFE = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f"
)
_IN_LINES = re.compile(f"[{UNSAFE}]")
_IN_NAMES = re.compile(f"[\\t\\n{UNSAFE}]")
_SURROGATES = re.compile("[\ud800-\udfff]")

#: What an exception says may have several lines.
_LINES = {(Failed, "message"), (Failed, "traceback")}


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def clean(text: str, *, lines: bool = False) -> str:
    """The text with everything a terminal would act on escaped; with `lines`, newlines and tabs stay."""
    if text.isprintable():  # nearly always
        return text
    return (_IN_LINES if lines else _IN_NAMES).sub(_escaped, text)


_Event = TypeVar("_Event")


def cleaned(events: Iterable[_Event]) -> list[_Event]:
    """The same events with clean texts: everything the watcher knows of its target goes through here."""
    return [_cleaned(event) for event in events]


def _cleaned(event: Any) -> Any:
    if isinstance(event, Output):  # a stream for a terminal: `ui.output_text` makes lines of it
        return event if event.text.isascii() else Output(_SURROGATES.sub("\ufffd", event.text))
    return _cleaned_fields(event)


def _cleaned_fields(thing: Any) -> Any:
    changes = {}
    for field in fields(thing):
        value = getattr(thing, field.name)
        new = _cleaned_value(value, lines=(type(thing), field.name) in _LINES)
        if new is not value:
            changes[field.name] = new
    return replace(thing, **changes) if changes else thing


def _cleaned_value(value: Any, *, lines: bool) -> Any:
    """The same object where nothing was to be done."""
    if isinstance(value, str):
        return clean(value, lines=lines)
    if isinstance(value, tuple):
        if not value or isinstance(value[0], (int, float)):
            return value
        new = tuple(_cleaned_value(part, lines=lines) for part in value)
        return value if new == value else new
    return _cleaned_fields(value) if is_dataclass(value) else value
