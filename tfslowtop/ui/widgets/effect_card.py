"""What the newest toggle or A/B test did: before and after in large digits, the ratio, and the slopes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from ...scenario import Fix
from ...state.verdict import is_leak
from ...state.view import Mark, Segment, View
from ...stats.effect import Effect, describe_slopes
from ...stats.trend import describe_leak
from ..format import plain, plain_text, quantity
from .big_number import BigNumber
from .spark import spark

#: Terminal height from which there is room for large digits, and columns from which they fit.
_TALL, _WIDE = 32, 100


@dataclass(frozen=True, slots=True)
class NewestEffect:
    """The newest toggle or A/B test, as one thing to show."""

    title: str
    effect: Effect | None
    """None while it is measured."""
    against: str
    """What the effect is measured against."""
    last: str = ""
    """What the newest toggle alone did, if `effect` is that of several fixes."""
    memory: str = ""
    pairs: tuple[tuple[float, float], ...] = ()
    """The typical times of an A/B test's blocks, slow and fixed."""
    is_test: bool = False


def newest_effect(view: View, fixes: Sequence[Fix]) -> NewestEffect | None:
    """Return what there is to show, or None if nothing was toggled or tested yet."""
    test = view.newest_comparison
    if test is not None:
        pairs = f"{test.blocks} pairs{', running' if test.running else ''}"
        title = f"A/B test: slow → fixed, {pairs}"
        return NewestEffect(title, test.effect, "than slow", pairs=test.medians, is_test=True)
    segments = [n for n, segment in enumerate(view.segments) if segment.mark.changed]
    if not segments:
        return None
    place = segments[-1]
    mark = view.segments[place].mark
    earlier = view.segments[:place]
    if mark.total is not None:  # what stands beside a total has the same beginning
        earlier = tuple(s for s in earlier if not s.mark.fixes) or earlier
    memory = cured_leak(earlier[-1] if earlier else None, view.segments[place])
    if mark.total is None:
        return NewestEffect(_toggled(mark, fixes), mark.effect, "than before", memory=memory)
    last = f"{_toggled(mark, fixes)}: {brief(mark.effect)}" if mark.effect else ""
    together = "+".join(_numbers(mark.fixes, fixes))
    alone = len(mark.fixes) == 1
    title = f"fix {together} alone" if alone else f"fixes {together} together"
    return NewestEffect(title, mark.total, "than without fixes", last, memory)


def cured_leak(before: Segment | None, after: Segment) -> str:
    """Return `+0.26 MB/it leak → flat`, or nothing where there was no leak or there still is one."""
    leak, now = before.memory if before is not None else None, after.memory
    if before is None or leak is None or now is None or now.direction == "rising":
        return ""
    if not is_leak(leak, before.gained):
        return ""
    then = "settling" if now.direction == "unclear" else describe_leak(now)
    return f"{describe_leak(leak)} → {then}"


def factor(effect: Effect) -> str:
    """Return how many times faster or slower."""
    value = 1 / effect.ratio if effect.verdict == "slower" else effect.ratio
    return f"×{value:,.{_places(value)}f}"


def brief(effect: Effect) -> str:
    """Return `×2.8 faster`, or that no difference was shown."""
    return effect.verdict if effect.verdict == "no difference shown" else f"{factor(effect)} {effect.verdict}"


def ratio_words(effect: Effect) -> str:
    """Return `×74 faster (60–88)`: the ratio with its 95 % interval."""
    low, high = effect.low, effect.high
    value = effect.ratio
    if effect.verdict == "slower":
        value, low, high = 1 / value, 1 / high, 1 / low
    places = _places(value)
    return f"{brief(effect)} ({low:,.{places}f}–{high:,.{places}f})"


def _places(value: float) -> int:
    return 2 if value < 2 else 1 if value < 100 else 0


def _toggled(mark: Mark, fixes: Sequence[Fix]) -> str:
    on = [id for id in mark.changed if id in mark.fixes]
    if on and len(on) < len(mark.changed):
        return f"fix {'+'.join(_numbers(on, fixes))} on, others off"
    if not mark.fixes and len(mark.changed) > 1:
        return "all fixes off"
    word = "fix" if len(mark.changed) == 1 else "fixes"
    return f"{word} {'+'.join(_numbers(mark.changed, fixes))} {'on' if on else 'off'}"


def _numbers(ids: Sequence[str], fixes: Sequence[Fix]) -> list[str]:
    """Return the keys of fixes, in their order; the id of one that has no key."""
    order = [fix.id for fix in fixes]
    known = sorted((id for id in ids if id in order), key=order.index)
    return [str(order.index(id) + 1) for id in known] + [id for id in ids if id not in order]


class EffectCard(Horizontal):
    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="effect")
        self._ascii = ascii
        self._before = BigNumber(ascii=ascii, id="effect-before")
        self._after = BigNumber(ascii=ascii, id="effect-after")
        self._words = Static(id="effect-words", markup=False)
        self._shown = ""
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._before
        yield self._after
        yield self._words

    def show(self, newest: NewestEffect | None) -> None:
        """Show this; None hides the card."""
        size = self.app.size
        large = size.height >= _TALL and size.width >= _WIDE and not self._ascii
        shown = f"{newest}{size}" if newest is not None else ""
        if shown == self._shown:
            return
        self._shown = shown
        self.display = newest is not None
        if newest is None:
            return
        levels = _levels(newest.effect)
        gain = newest.effect.verdict if newest.effect else ""
        self.set_class(gain == "faster" or bool(newest.memory), "-gain")
        self.set_class(gain == "slower", "-loss")
        self.set_class(large, "-large")
        self.border_title = self._spell(newest.title)
        digits = large and bool(levels) and not newest.is_test
        self._before.display = self._after.display = digits
        if digits:
            for widget, level, after in zip((self._before, self._after), levels, ("\n  →", ""), strict=True):
                number, _, unit = level.partition(" ")
                widget.show(number, unit + after)
        width = self.screen.query_one("#main").size.width or size.width
        if large and newest.is_test:
            self._words.update(self._arms(newest, width - 4))
            return
        lines = large_words(newest) if large else [brief_words(newest, levels, width - 2)]
        text = Text("\n".join(lines), no_wrap=not large, overflow="crop" if self._ascii else "ellipsis")
        self._words.update(plain_text(text) if self._ascii else text)

    def _arms(self, newest: NewestEffect, width: int) -> Text:
        """Return both arms of an A/B test, each in its colour and on the same scale, and the outcome."""
        text = Text(no_wrap=True, overflow="ellipsis")
        top = max((max(pair) for pair in newest.pairs), default=0.0)
        levels = _levels(newest.effect) or ("", "")
        for name, arm, level, colour in zip(
            ("slow", "fixed"), zip(*newest.pairs, strict=True), levels, ("error", "success"), strict=False
        ):
            low, high = np.quantile(arm, (0.05, 0.95))
            words = f"{name:6}{level:>8}  {quantity(low, 's')}–{quantity(high, 's')}  "
            style = self.app.theme_variables.get(colour) or ""
            text.append(f"{words:34}", "bold").append(spark(arm[-max(1, width - 34) :], top=top), style)
            text.append("\n")
        return text.append("   ".join(large_words(newest)), "bold")

    def _spell(self, text: str) -> str:
        return plain(text) if self._ascii else text


def large_words(newest: NewestEffect) -> list[str]:
    """Return up to three lines to stand beside the large digits."""
    effect = newest.effect
    memory = f"memory {newest.memory}" if newest.memory else ""
    if effect is None:
        return [line for line in (_waiting(newest), memory) if line]
    slopes = describe_slopes(effect)
    lines = (ratio_words(effect), memory, slopes and f"slope {slopes}", newest.last)
    return [line for line in lines if line][:3]


def brief_words(newest: NewestEffect, levels: Sequence[str], width: int) -> str:
    """Return one line with as much as fits: the ratio always, then the times, the slopes, the interval."""
    effect = newest.effect
    memory = f"memory {newest.memory}" if newest.memory else ""
    if effect is None:
        return f"{newest.title}: {_waiting(newest)}  {memory}".rstrip()
    sign = {"faster": "↓ ", "slower": "! "}.get(effect.verdict, "")
    begin, times = f"{sign}{newest.title.partition(',')[0]}: ", " → ".join(levels)
    ratio, slopes = ratio_words(effect), describe_slopes(effect)
    short = brief(effect)
    shapes = (
        (times, ratio, memory, slopes),
        (times, short, memory, slopes),
        (times, short, memory or slopes),
        (short, memory or slopes),
        (times, short),
        (short,),
    )
    lines = [begin + "  ".join(part for part in shape if part) for shape in shapes]
    return next((line for line in lines if len(line) <= width), lines[-1])


def _waiting(newest: NewestEffect) -> str:
    return "measuring …" if newest.is_test else "settling …"


def _levels(effect: Effect | None) -> tuple[str, ...]:
    """Return the times before and after, unless they would not agree with the ratio.

    The ratio of an A/B test is that of its typical pair, which may differ from that of the medians.
    """
    if effect is None or not (math.isfinite(effect.level_before) and effect.level_after > 0):
        return ()
    if not effect.low <= effect.level_before / effect.level_after <= effect.high:
        return ()
    return quantity(effect.level_before, "s"), quantity(effect.level_after, "s")
