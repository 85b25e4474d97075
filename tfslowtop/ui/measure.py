"""Takes from a run what the catalogue keeps of it: what the whole cure of a scenario did."""

from __future__ import annotations

import itertools
import math
import time

from ..catalogue.measured import Measured
from ..scenario import Scenario
from ..state.view import View
from ..stats.effect import Effect
from ..stats.trend import describe_leak

#: Points of the small curve, and pairs of blocks from which on an A/B test counts.
_POINTS, _PAIRS = 12, 8


def measure(view: View, scenario: Scenario) -> Measured | None:
    """Return what the cure did, or None if it was not measured: a part of it does not count."""
    effect = _effect_of_cure(view, scenario)
    if effect is None or not all(map(math.isfinite, (effect.ratio, effect.low, effect.high))):
        return None
    levels = (effect.level_before, effect.level_after)
    if not all(map(math.isfinite, levels)) or effect.ratio <= 0:
        return None
    return Measured(
        ratio=effect.ratio,
        low=effect.low,
        high=effect.high,
        before=levels[0],
        after=levels[1],
        leak=_leak(view, scenario),
        curve=_curve(view),
        at=time.time(),
    )


def _effect_of_cure(view: View, scenario: Scenario) -> Effect | None:
    slow, fixed = set(scenario.base), {*scenario.base, *scenario.cured_by}
    test = view.comparison
    if test is not None and (set(test.a), set(test.b)) == (slow, fixed) and test.blocks >= _PAIRS:
        return test.effect
    if scenario.base:
        return None  # toggles are measured against no fixes at all
    for mark in reversed(view.marks):
        if set(mark.fixes) == fixed:
            alone = set(mark.changed) == fixed
            return mark.total or (mark.effect if alone else None)
    return None


def _leak(view: View, scenario: Scenario) -> str:
    first = view.segments[0] if view.segments else None
    trend = first.memory if first is not None and set(first.mark.fixes) == set(scenario.base) else None
    return describe_leak(trend) if trend is not None and trend.direction == "rising" else ""


def _curve(view: View) -> tuple[float, ...]:
    panel = view.panel("latency")
    values = [v for v in panel.curve.mid.tolist() if math.isfinite(v)] if panel is not None else []
    if len(values) < _POINTS:
        return ()
    edges = [round(n * len(values) / _POINTS) for n in range(_POINTS + 1)]
    return tuple(max(values[a:b]) for a, b in itertools.pairwise(edges))
