"""The fixes of a scenario or a script: key, check box, what each does, and the effect that it had."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.text import Text
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ...scenario import Fix
from ...state.view import Segment
from ...stats.effect import Effect, sentence
from ..format import plain_text
from .effect_card import brief, cured_leak, factor, ratio_words


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
        """List other fixes."""
        self._fixes, self._texts = fixes, []
        self.clear_options()
        self.add_options([Option("", id=fix.id) for fix in fixes])
        self.display = bool(fixes)
        self.show((), (), ())

    def show(
        self,
        active: tuple[str, ...],
        requested: tuple[str, ...],
        segments: tuple[Segment, ...],
        refusals: Mapping[str, str] | None = None,
    ) -> None:
        """Show which fixes are on: `active` are confirmed by the target, `requested` by the user.

        `refusals` says why a fix is not on although it was requested.
        """
        lines = [self._line(n, fix, active, requested) for n, fix in enumerate(self._fixes)]
        for fix, line in zip(self._fixes, lines, strict=True):
            effect, style = self._effect(fix, fix.id in active, segments, line.cell_len)
            if refusals and fix.id in refusals and fix.id not in active:
                effect, style = f"  {refusals[fix.id]}", "italic"
            line.append(effect, style)
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

    def _effect(self, fix: Fix, on: bool, segments: tuple[Segment, ...], used: int) -> tuple[str, str]:
        """Return what switching the fix on did, and its style; dim once the fix is off again.

        Only a toggle of this fix alone says something about it. What happened when others were switched, or
        when all were switched off, is in the effect card.
        """
        places = [n for n, s in enumerate(segments) if s.mark.changed == (fix.id,) and fix.id in s.mark.fixes]
        if not places:
            return "", ""
        place = places[-1]
        before, segment = segments[place - 1] if place else None, segments[place]
        room = (self.scrollable_content_region.width or 80) - used - 2
        effect = segment.mark.effect
        if effect is None:
            waiting = (
                "settling …" if segment is segments[-1] else "not measured: the next toggle came too soon"
            )
            return (f"  {waiting}" if on and len(waiting) <= room else ""), "italic"
        if not on:
            words = f"{brief(effect)} when on"
            return (f"  {words}" if len(words) <= room else ""), "dim"
        words = describe_effect(effect, room, cured_leak(before, segment))
        if words.endswith("settling") and segment is not segments[-1]:
            words = ratio_words(effect)  # it has no time left to settle
        least = factor(effect) if effect.verdict != "no difference shown" else ""
        words = next((text for text in (words, brief(effect), least) if len(text) <= room), "")
        return f"  {words}", "italic"

    def on_focus(self) -> None:
        if self.highlighted is None and self._fixes:
            self.highlighted = 0  # enter has to act on one of them

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            self.post_message(self.Toggle(event.option.id))
