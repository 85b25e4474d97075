"""How the times of two runs compare: a step of each, and the whole of each."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ...state.streams import StreamStats
from ...stats.effect import Effect, Ratio, between_runs
from .program_run import Observed
from .trial import Measured

#: How far the number of steps of two complete runs may be apart, for both to count the same steps.
_SAME_STEPS = 0.02
#: The share of the time that has to be in something else that repeats, to measure that instead of a step.
_MOST = 0.5
#: How much longer one of two equal runs may take by chance. On a busy machine it may be more, but not in CPU
#: time, which is looked at as well.
_CHANCE = 1.1


def effect(before: Observed, after: Observed) -> Effect | None:
    """Return what a change brought for a step; None where no step can be compared.

    A faster run may be over before its step is recognised. Then it is measured by what both runs repeat as
    often, if that is most of the time.
    """
    others = sorted(before.streams, key=lambda s: -s.seconds)
    for one in (*([before.step] if before.step else []), *others):
        if one is not before.step and one.seconds < _MOST * before.seconds:
            return None
        for two in (*([after.step] if after.step else []), *after.streams):
            if _are_same(one, two) and (before.stopped or after.stopped or _are_as_many(one, two)):
                found = between_runs(one.blocks.stretch(), two.blocks.stretch())
                if found is not None:
                    return found
    return None


def _are_as_many(one: StreamStats, two: StreamStats) -> bool:
    return abs(one.calls - two.calls) <= _SAME_STEPS * one.calls


def _are_same(one: StreamStats, two: StreamStats) -> bool:
    return (one.kind, one.info.name, one.info.file) == (two.kind, two.info.name, two.info.file)


def whole_run(before: Sequence[Observed], after: Observed) -> Measured | None:
    """Return what a change brought for the whole run; None unless all runs ended by themselves."""
    if not before or any(run.stopped or run.seconds <= 0 for run in (*before, after)):
        return None
    walls = [run.seconds for run in before]
    typical, now = statistics.median(walls), after.seconds
    cpus = [run.cpu for run in before if run.cpu]
    cpu = statistics.median(cpus) / after.cpu if cpus and after.cpu else None
    wall = Ratio(typical / now, min(walls) / now / _CHANCE, max(walls) / now * _CHANCE)
    return Measured.of_runs(wall, cpu, typical, now, len(walls))
