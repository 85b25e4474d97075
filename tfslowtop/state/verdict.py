"""What a scenario's claim is worth on this machine, from what was measured here and from nothing else.

The words are few, so that a table of forty of them can be read:

- *confirmed here*: latency rises, memory leaks, or pauses take a visible share;
- *constant penalty ×N*: slower by a factor that does not grow;
- *not reproduced here*: no rise, no leak, no pauses, and no difference to the fixed twin;
- *inconclusive on this noisy machine*: the data do not say.

`calm` and `certain` say when looking longer would change nothing, so that a measurement can end early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..stats.blocks import Floats
from ..stats.effect import Effect, Ratio
from ..stats.trend import Trend, describe, describe_leak
from .view import View

Outcome = Literal["confirmed", "constant penalty", "not reproduced", "inconclusive", "measuring"]

#: The gauge by which a scenario counts results that were computed with an old value.
STALE = "stale results"
#: Bytes per iteration below which growth of memory is not worth a word, and the least growth in all.
LEAK_PER_ITERATION = 2_000.0
#: An allocator takes some percent more while it warms up, and keeps them: what leaks passes that soon.
LEAKED = 0.03
#: A ratio to the fixed twin that anyone would mind, what its interval must lie above, and the interval of a
#: ratio that nobody would mind.
MINDED, SHOWN = 1.10, 1.05
NOT_MINDED = (0.8, 1.25)
#: What grows climbs by more than this share of its level in the few seconds that are the least anyone looks.
CALM = 0.3
#: A pause is an iteration that takes this many times the median ...
PAUSE = 8.0
#: ... and pauses matter when they take this share of all the time, and come again and again: right after
#: TensorFlow's import one collection of a third of a second is due, whatever the program does.
PAUSE_SHARE = 0.10
LEAST_PAUSES = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    words: str
    found: tuple[str, ...] = ()
    """Which of grows, leaks, pauses and stale it was that was confirmed."""


def pauses(wall: Floats) -> float:
    """The share of time that goes to iterations far above the median, the first one (a warm-up) left out."""
    wall = wall[1:]
    if len(wall) < 50:
        return 0.0
    median = float(np.median(wall))
    long = wall[wall > PAUSE * median]
    if len(long) < LEAST_PAUSES:
        return 0.0
    return float((long - median).sum() / max(wall.sum(), 1e-12))


def live(view: View, base: tuple[str, ...], cure: tuple[str, ...]) -> Verdict:
    """What can be said by now of a run that somebody plays with.

    The broken form is the newest stretch without any fix beyond `base`. The fixed twin is the A/B run's, or
    else the stretch after the toggle that completed the cure.
    """
    broken = [s for s in view.segments if set(s.mark.fixes) == set(base)] or [
        s for s in view.segments if not set(s.mark.fixes) - set(base)
    ]
    latency = broken[-1].latency if broken else None
    memory = broken[-1].memory if broken else None
    share = broken[-1].pause_share if broken else 0.0
    effect = view.comparison.effect if view.comparison else None
    if effect is None:
        cured = [m.effect for m in view.marks if set(m.fixes) >= set(cure) and set(m.changed) >= set(cure)]
        effect = cured[-1] if cured else None
    stale = view.panel(STALE)
    gained = broken[-1].gained if broken else 0.0
    return judge(latency, memory, effect, share, stale.now if stale else 0.0, gained)


def judge(
    latency: Trend | None,
    memory: Trend | None,
    effect: Effect | None,
    pause_share: float = 0.0,
    stale: float = 0.0,
    gained: float = math.inf,
) -> Verdict:
    """`latency` and `memory` are of the broken form alone; `effect` is broken against fixed, interleaved.

    `gained` is what the rise of the memory comes to so far, as a share of it.
    `stale` is how many results were wrong because an old value was used, where a scenario counts that.
    """
    if latency is None or (latency.direction == "unclear" and effect is None and memory is None):
        return Verdict("measuring", "measuring …")
    factor = _factor(effect)
    found: dict[str, str] = {}
    if latency.direction == "rising":
        found["grows"] = describe(latency)
    leaks = memory is not None and memory.direction == "rising" and memory.low > LEAK_PER_ITERATION
    if memory is not None and leaks and gained >= LEAKED:
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


def fits(kind: str, verdict: Verdict) -> bool:
    """Whether the data of this run bear out what a scenario says of itself."""
    found = {"grows": "grows", "leaks": "leaks", "pauses": "pauses", "stale result": "stale"}
    if kind in found:
        return found[kind] in verdict.found
    return verdict.outcome == {"myth": "not reproduced"}.get(kind, kind)


def calm(latency: Trend | None, memory: Trend | None, gained: float = math.inf) -> bool:
    """Whether it is plain what latency and memory do: a direction, or no room for a rise worth the name."""
    if latency is None or memory is None:
        return False
    # What fell in one step is no leak; what is not known yet (NaN) may be one.
    if memory.direction == "unclear" and not memory.slope <= 0.0:
        return False
    if memory.direction == "rising" and gained < LEAKED:
        return False
    return latency.direction != "unclear" or latency.room < CALM


def certain(effect: Effect | None) -> bool:
    """Whether more blocks would only make the interval narrower.

    This is asked again and again, so a difference must be plain even with an interval twice as wide: among
    many looks one is likely to show a small difference that is not there.
    """
    if effect is None:
        return False
    low, high = effect.low**2 / effect.ratio, effect.high**2 / effect.ratio
    if low > SHOWN or high < 1 / SHOWN:
        return True
    return _tight(effect.wall) or (effect.verdict == "no difference shown" and _nobody_minds(effect))


def _nobody_minds(effect: Effect) -> bool:
    """A busy neighbour widens wall time's interval; CPU time, which it disturbs less, may then say so."""
    return _tight(effect.wall) or (effect.cpu is not None and _tight(effect.cpu))


def _tight(ratio: Ratio) -> bool:
    low, high = NOT_MINDED
    return low < ratio.low and ratio.high < high


def _factor(effect: Effect | None) -> str:
    """How much slower the broken one is, if that was shown."""
    return _times(effect.ratio) if effect is not None and effect.verdict == "faster" else ""


def _times(value: float) -> str:
    return f"×{value:.2f}" if value < 2 else f"×{value:.1f}" if value < 100 else f"×{value:.0f}"
