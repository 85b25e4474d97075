"""Judges a scenario's claim on this machine, from nothing but what was measured here.

There are few outcomes, so that a table of forty verdicts stays readable:

- *confirmed here*: latency rises, memory leaks, or pauses take a visible share;
- *constant penalty ×N*: slower by a factor that does not grow;
- *not reproduced here*: no rise, no leak, no pauses, and no difference to the fixed twin;
- *inconclusive on this noisy machine*: there is not enough data.

`calm` and `certain` tell when measuring longer would change nothing, so that a measurement can end early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..stats.blocks import Floats
from ..stats.effect import Effect, Ratio
from ..stats.trend import Trend, describe, describe_leak
from .view import Mark, View

Outcome = Literal["confirmed", "constant penalty", "not reproduced", "inconclusive", "measuring"]

#: The gauge with which a scenario counts results that were computed with an old value.
STALE = "stale results"
#: Bytes per iteration below which growth of memory does not matter, and the least total growth.
LEAK_PER_ITERATION = 2_000.0
#: An allocator takes some percent more while it warms up, and keeps them; a leak soon exceeds that.
LEAKED = 0.03
#: A ratio to the fixed twin that anyone would notice, the least lower end of its interval, and the interval
#: of a ratio that nobody would notice.
MINDED, SHOWN = 1.10, 1.05
NOT_MINDED = (0.8, 1.25)
#: Something that grows rises by more than this share of its level within a few seconds.
CALM = 0.3
#: A pause is an iteration that takes this many times the median ...
PAUSE = 8.0
#: ... and pauses matter when they take this share of the time and recur: right after TensorFlow's import one
#: collection of a third of a second is due, whatever the program does.
PAUSE_SHARE = 0.10
LEAST_PAUSES = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    words: str
    found: tuple[str, ...] = ()
    """Which of grows, leaks, pauses and stale was confirmed."""


def pauses(wall: Floats) -> float:
    """Return the share of time in iterations far above the median, the first one (a warm-up) left out."""
    wall = wall[1:]
    if len(wall) < 50:
        return 0.0
    median = float(np.median(wall))
    long = wall[wall > PAUSE * median]
    if len(long) < LEAST_PAUSES:
        return 0.0
    return float((long - median).sum() / max(wall.sum(), 1e-12))


def live(view: View, base: tuple[str, ...], cure: tuple[str, ...], kind: str = "") -> Verdict:
    """Judge a run that somebody is playing with, as far as that is possible by now.

    The slow form is the newest segment without any fix beyond `base`. The fixed twin is the A/B test's, or
    the segment after the toggle that completed `cure`. Of a scenario whose `kind` says that it grows, no
    constant penalty is claimed.
    """
    broken = [s for s in view.segments if set(s.mark.fixes) == set(base)] or [
        s for s in view.segments if not set(s.mark.fixes) - set(base)
    ]
    latency = broken[-1].latency if broken else None
    memory = broken[-1].memory if broken else None
    share = broken[-1].pause_share if broken else 0.0
    newest, any_test = view.newest_comparison, view.comparison
    effect = newest.effect if newest else None
    if effect is None:
        cured = [e for m in view.marks if (e := _against_slow(m, base, cure)) is not None]
        effect = cured[-1] if cured else any_test.effect if any_test else None
    if effect is not None and effect.before.direction == "rising":
        latency = effect.before  # the same slow form, and the slope that is shown beside the effect
    stale = view.panel(STALE)
    gained = broken[-1].gained if broken else 0.0
    verdict = judge(latency, memory, effect, share, stale.now if stale else 0.0, gained)
    if kind == "grows" and verdict.outcome == "constant penalty":
        words = f"{_factor(effect)} slower than fixed; whether it grows is not clear yet"
        return Verdict("measuring", words)
    return verdict


def _against_slow(mark: Mark, base: tuple[str, ...], cure: tuple[str, ...]) -> Effect | None:
    """Return what the cure did against the slow form, which need not be what was right before the toggle."""
    if not set(mark.fixes) >= set(cure):
        return None
    if set(mark.fixes) - set(mark.changed) <= set(base):
        return mark.effect
    return None if base else mark.total


def judge(
    latency: Trend | None,
    memory: Trend | None,
    effect: Effect | None,
    pause_share: float = 0.0,
    stale: float = 0.0,
    gained: float = math.inf,
) -> Verdict:
    """Judge measurements: `latency` and `memory` of the slow form alone, `effect` of slow against fixed,
    interleaved.

    `gained` is the growth of memory so far, as a share of it. `stale` is how many results were wrong because
    an old value was used, where a scenario counts that.
    """
    if latency is None or (latency.direction == "unclear" and effect is None and memory is None):
        return Verdict("measuring", "measuring …")
    factor = _factor(effect)
    found: dict[str, str] = {}
    if latency.direction == "rising":
        found["grows"] = describe(latency)
    if memory is not None and is_leak(memory, gained):
        found["leaks"] = describe_leak(memory)
    if pause_share >= PAUSE_SHARE:
        found["pauses"] = f"pauses take {100 * pause_share:.0f} % of the time"
    if stale:
        found["stale"] = f"{stale:,.0f} stale results"
    if found:
        words = "confirmed here: " + ", ".join(found.values())
        return Verdict("confirmed", words + (f"; {factor} slower than fixed" if factor else ""), tuple(found))
    if effect is None:
        words = (
            "steady so far; x compares it with the fixed one"
            if latency.direction == "flat"
            else "measuring …"
        )
        return Verdict("measuring", words)
    if effect.low > SHOWN and effect.ratio >= MINDED:
        return Verdict("constant penalty", f"constant penalty: {factor} slower than fixed")
    if _nobody_minds(effect):
        rise = "no rise" if latency.direction == "flat" else "no rise shown"
        return Verdict("not reproduced", f"not reproduced here: {rise}, no difference to the fixed one")
    if effect.verdict == "slower":
        return Verdict(
            "not reproduced", f"not reproduced here: the fixed one is {_times(1 / effect.ratio)} slower"
        )
    return Verdict("inconclusive", "inconclusive on this noisy machine")


def is_leak(memory: Trend, gained: float) -> bool:
    """Whether memory that gained this share of its level grows with the iterations, and not only at first."""
    return memory.direction == "rising" and memory.low > LEAK_PER_ITERATION and gained >= LEAKED


def fits(kind: str, verdict: Verdict) -> bool:
    """Whether the data of this run confirm what a scenario claims."""
    found = {"grows": "grows", "leaks": "leaks", "pauses": "pauses", "stale result": "stale"}
    if kind in found:
        return found[kind] in verdict.found
    return verdict.outcome == {"myth": "not reproduced"}.get(kind, kind)


def calm(latency: Trend | None, memory: Trend | None, gained: float = math.inf) -> bool:
    """Whether latency and memory are clear: a direction, or no room for a rise that matters."""
    if latency is None or memory is None:
        return False
    # A drop in one step is not a leak; what is not known yet (NaN) may be one.
    if memory.direction == "unclear" and not memory.slope <= 0.0:
        return False
    if memory.direction == "rising" and gained < LEAKED:
        return False
    return latency.direction != "unclear" or latency.room < CALM


def certain(effect: Effect | None) -> bool:
    """Whether more blocks would only make the interval narrower.

    This is asked repeatedly, so a difference must be clear even with an interval twice as wide: among many
    tests one is likely to show a small difference that is not there.
    """
    if effect is None:
        return False
    low, high = effect.low**2 / effect.ratio, effect.high**2 / effect.ratio
    if low > SHOWN or high < 1 / SHOWN:
        return True
    return _tight(effect.wall) or (effect.verdict == "no difference shown" and _nobody_minds(effect))


def _nobody_minds(effect: Effect) -> bool:
    """Whether CPU time shows it where other processes widen the interval of wall time."""
    return _tight(effect.wall) or (effect.cpu is not None and _tight(effect.cpu))


def _tight(ratio: Ratio) -> bool:
    low, high = NOT_MINDED
    return low < ratio.low and ratio.high < high


def _factor(effect: Effect | None) -> str:
    """Return how much slower the slow form is, if that was shown."""
    return _times(effect.ratio) if effect is not None and effect.verdict == "faster" else ""


def _times(value: float) -> str:
    return f"×{value:,.{2 if value < 2 else 1 if value < 100 else 0}f}"
