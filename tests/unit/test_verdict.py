"""The verdict: from the data of the run alone, and only when they say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tfslowtop.state.verdict import Verdict, calm, certain, fits, judge, pauses
from tfslowtop.stats.effect import Effect, Ratio, ab
from tfslowtop.stats.trend import Trend

FLAT = Trend("flat", 0.0, -1e-6, 1e-6, 0.01, 1000, "", 1.0, 0.1)
RISING = replace(FLAT, direction="rising", slope=1e-5, low=8e-6, high=1.2e-5, climb=3.2)
UNCLEAR = replace(FLAT, direction="unclear", low=-1e-5, high=1e-5, room=1.0)
LEAK = Trend("rising", 80e3, 70e3, 90e3, 6e8, 100, "")
STEADY = Trend("flat", 0.0, -100.0, 100.0, 6e8, 100, "")


def effect(value: float, low: float, high: float, cpu: tuple[float, float, float] | None = None) -> Effect:
    return Effect(Ratio(value, low, high), Ratio(*cpu) if cpu else None, FLAT, FLAT, 100, 100)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (effect(20.0, 18.0, 22.0), "constant penalty"),
        (effect(1.2, 1.06, 1.4), "constant penalty"),
        (effect(1.2, 1.02, 1.4), "inconclusive"),
        (effect(1.07, 1.02, 1.12), "not reproduced"),  # sure, but nobody minds
        (effect(1.0, 0.9, 1.1), "not reproduced"),
        (effect(0.1, 0.05, 0.2), "not reproduced"),
        (effect(1.0, 0.6, 1.6), "inconclusive"),
        (effect(1.0, 0.6, 1.6, (1.0, 0.95, 1.05)), "not reproduced"),  # CPU time knows
        (effect(1.3, 0.9, 1.8), "inconclusive"),
    ],
)
def test_what_is_steady_is_judged_by_its_twin(found: Effect, outcome: str) -> None:
    assert judge(FLAT, STEADY, found).outcome == outcome


def test_what_rises_or_leaks_is_confirmed_and_named() -> None:
    assert judge(RISING, STEADY, effect(9.0, 8.0, 10.0)).found == ("grows",)
    both = judge(RISING, LEAK, None, pause_share=0.3, stale=7)
    assert both.found == ("grows", "leaks", "pauses", "stale") and both.outcome == "confirmed"
    # What an allocator takes while it warms up is no leak, and more iterations will show it.
    assert judge(FLAT, LEAK, effect(1.0, 0.9, 1.1), gained=0.02).found == ()
    assert judge(FLAT, LEAK, effect(1.0, 0.9, 1.1), gained=0.04).found == ("leaks",)
    assert calm(FLAT, LEAK, 0.04) and not calm(FLAT, LEAK, 0.02)
    # A few bytes are not worth a word.
    assert judge(FLAT, replace(LEAK, slope=300.0, low=200.0), effect(1.0, 0.9, 1.1)).found == ()


def test_one_long_iteration_is_an_event_and_not_a_pause() -> None:
    wall = np.full(200, 0.01)
    wall[5] = 0.5
    assert pauses(wall) == 0.0
    wall[20::20] = 0.2
    assert pauses(wall) > 0.3


@pytest.mark.parametrize(
    ("kind", "outcome", "found", "right"),
    [
        ("myth", "not reproduced", (), True),
        ("myth", "inconclusive", (), False),
        ("myth", "constant penalty", (), False),
        ("constant penalty", "constant penalty", (), True),
        ("constant penalty", "confirmed", ("leaks",), False),
        ("grows", "confirmed", ("grows", "leaks"), True),
        ("grows", "confirmed", ("leaks",), False),
        ("leaks", "confirmed", ("grows", "leaks"), True),
        ("stale result", "confirmed", ("stale",), True),
        ("pauses", "not reproduced", (), False),
    ],
)
def test_a_verdict_bears_a_kind_out_or_not(
    kind: str, outcome: str, found: tuple[str, ...], right: bool
) -> None:
    assert fits(kind, Verdict(outcome, "", found)) is right  # type: ignore[arg-type]


def test_looking_again_and_again_does_not_find_what_is_not_there() -> None:
    def ends(seed: int, ratio: float) -> str:
        rng = np.random.default_rng([12, seed])
        spoilt = np.where(rng.random((2, 100)) < 0.3, rng.uniform(1.3, 3.0, (2, 100)), 1.0)
        a, b = np.exp(0.15 * rng.standard_normal((2, 100))) * spoilt
        for pairs in range(8, 101, 10):
            found = ab(list(ratio * a[:pairs, np.newaxis]), list(b[:pairs, np.newaxis]))
            if certain(found):
                break
        return judge(FLAT, STEADY, found).outcome

    myths = [ends(seed, 1.0) for seed in range(60)]
    assert myths.count("constant penalty") <= 2
    assert myths.count("not reproduced") >= 55
    assert [ends(seed, 1.5) for seed in range(60)].count("constant penalty") >= 58


def test_looking_may_end_when_more_of_it_would_change_nothing() -> None:
    assert calm(FLAT, STEADY) and calm(RISING, LEAK)
    assert not calm(UNCLEAR, STEADY)  # there is room for it to double
    assert calm(replace(UNCLEAR, room=0.2), STEADY)
    assert not calm(FLAT, replace(STEADY, direction="unclear", slope=50.0))
    assert not calm(FLAT, replace(STEADY, direction="unclear", slope=float("nan")))
    assert calm(FLAT, replace(STEADY, direction="unclear", slope=-50.0))
    assert not calm(None, STEADY) and not calm(FLAT, None)
    assert certain(effect(3.0, 2.0, 4.0)) and certain(effect(0.2, 0.1, 0.4))
    assert certain(effect(1.0, 0.9, 1.1)) and certain(effect(1.0, 0.5, 2.0, (1.0, 0.9, 1.1)))
    # By chance it looks like this now and then: more blocks will tell.
    assert not certain(effect(1.3, 1.02, 1.6)) and not certain(effect(1.6, 1.2, 2.0)) and not certain(None)
    # CPU time does not overrule wall time that differs.
    assert not certain(effect(1.3, 1.02, 1.6, (1.0, 0.9, 1.1)))
