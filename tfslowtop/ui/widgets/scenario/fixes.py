"""The fixes of a scenario: key, check box, what each does, and the effect that it had."""

from __future__ import annotations

import re

from rich.text import Text
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ....scenario import Fix
from ....state.view import Mark, Segment
from ....stats.effect import Effect, sentence
from ....stats.trend import Trend, describe_leak
from ...format import plain_text


def describe_effect(effect: Effect, width: int, memory: str = "") -> str:
    """Describe what a toggle did, as fully as there is room for: first the factor, then the new slope.

    `memory` is its effect on memory. Where latency stayed the same, that is what the fix is for.
    """
    if memory and effect.verdict == "no difference shown":
        both = f"memory {memory}; latency: no difference shown"
        return both if len(both) <= width else f"memory {memory}"
    if memory and len(both := f"{sentence(effect)}; memory {memory}") <= width:
        return both
    full = sentence(effect)
    brief = full.replace("95 % CI ", "").replace(", slope ", ", ")
    briefer = re.sub(r" \([^)]*\)", "", brief)
    briefest = briefer.partition(";")[0]
    # Of the two slopes keep the second, which is the current one.
    last = re.sub(r", [^,]* → ", " → ", briefest)
    return next((text for text in (full, brief, briefer, briefest) if len(text) <= width), last)


def cured_leak(before: Trend | None, after: Trend | None) -> str:
    """Return `+0.26 MB/it leak → flat`, or nothing where there was no leak or there still is one."""
    if before is None or after is None or before.direction != "rising" or after.direction == "rising":
        return ""
    return f"{describe_leak(before)} → {describe_leak(after)}"


class Fixes(OptionList):
    """One line per fix. The arrow keys and `enter` work, as do the numbers and the mouse."""

    class Toggle(Message):
        def __init__(self, id: str) -> None:
            super().__init__()
            self.id = id

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="fixes", markup=False)
        self._ascii = ascii
        self._fixes: tuple[Fix, ...] = ()
        self._texts: list[str] = []

    def offer(self, fixes: tuple[Fix, ...]) -> None:
        """List the fixes of another scenario."""
        self._fixes, self._texts = fixes, []
        self.clear_options()
        self.add_options([Option("", id=fix.id) for fix in fixes])
        self.display = bool(fixes)
        self.show((), (), ())

    def show(
        self, active: tuple[str, ...], requested: tuple[str, ...], segments: tuple[Segment, ...]
    ) -> None:
        """Show which fixes are on: `active` are confirmed by the target, `requested` by the user."""
        last = {id: n for n, segment in enumerate(segments) for id in segment.mark.changed}
        newest = max(last.values(), default=0)
        lines = []
        for n, fix in enumerate(self._fixes):
            line, place = self._line(n, fix, active, requested), last.get(fix.id)
            if place is not None:
                before = segments[place - 1].memory if place else None
                memory = cured_leak(before, segments[place].memory)
                effect = self._effect(fix, segments[place].mark, memory, newest=place == newest)
                line.append(effect, "italic")
            lines.append(line)
        for n, line in enumerate(lines):
            if n >= len(self._texts) or line.plain != self._texts[n]:
                self.replace_option_prompt_at_index(n, plain_text(line) if self._ascii else line)
        self._texts = [line.plain for line in lines]

    @staticmethod
    def _line(n: int, fix: Fix, active: tuple[str, ...], requested: tuple[str, ...]) -> Text:
        on, asked = fix.id in active, fix.id in requested
        box = "[x]" if on else "[ ]"
        text = Text(
            f"{n + 1 if n < 9 else ' '} {box if on == asked else '[…]'} ", no_wrap=True, overflow="ellipsis"
        )
        return text.append(fix.title, "bold" if on else "")

    def _effect(self, fix: Fix, mark: Mark, memory: str, *, newest: bool) -> str:
        word = "on" if fix.id in mark.fixes else "off"
        with_others = " with others" if len(mark.changed) > 1 else ""
        begin = f"      {word}{with_others}: "
        waiting = "measuring …" if newest else "not measured: the next toggle came too soon"
        width = self.scrollable_content_region.width or 80
        return (
            f"\n{begin}{describe_effect(mark.effect, width - len(begin), memory) if mark.effect else waiting}"
        )

    def on_focus(self) -> None:
        if self.highlighted is None and self._fixes:
            self.highlighted = 0  # enter has to act on one of them

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            self.post_message(self.Toggle(event.option.id))
