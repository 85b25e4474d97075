"""The effect of a change: the interval holds the truth, and the words do not say more than it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tfslowtop.stats.blocks import Blocks, Stretch
from tfslowtop.stats.effect import Effect, Ratio, ab, before_after, sentence
from tfslowtop.stats.trend import Trend

MS = 1e-3
Rng = np.random.Generator


def stretch(wall: np.ndarray, share: float = 0.9, since: float = 0.0) -> Stretch:
    start = (1e9 * (since + np.cumsum(wall) - wall)).astype(np.int64)
    return Stretch(np.arange(len(wall), dtype=np.float64), start, wall, share * wall)


def iid(rng: Rng, n: int, level: float = 20.0) -> np.ndarray:
    return level * MS * np.exp(0.25 * rng.standard_normal(n))


def wandering(rng: Rng, n: int, level: float = 20.0) -> np.ndarray:
    """Noise of which neighbouring iterations share a part."""
    slow = np.zeros(n)
    for i in range(1, n):
        slow[i] = 0.9 * slow[i - 1] + np.sqrt(1 - 0.81) * rng.standard_normal()
    return level * MS * np.exp(0.1 * slow + 0.1 * rng.standard_normal(n))


def coverage(truth: float, make: Callable[[Rng], Effect | None], tries: int) -> float:
    """How often the interval holds the true ratio."""
    held = 0
    for i in range(tries):
        effect = make(np.random.default_rng([3, i]))
        assert effect is not None
        assert effect.low <= effect.ratio <= effect.high
        held += effect.low <= truth <= effect.high
    return held / tries


TOGGLES: dict[str, Callable[[Rng], Effect | None]] = {
    "300 and 300": lambda rng: before_after(stretch(iid(rng, 300)), stretch(iid(rng, 300, 10.0))),
    "300 and 60": lambda rng: before_after(stretch(iid(rng, 300)), stretch(iid(rng, 60, 10.0))),
    "25 and 25, slow": lambda rng: before_after(stretch(iid(rng, 25, 200.0)), stretch(iid(rng, 25, 100.0))),
    "wandering": lambda rng: before_after(stretch(wandering(rng, 600)), stretch(wandering(rng, 600, 10.0))),
}


@pytest.mark.parametrize("case", TOGGLES)
def test_the_interval_of_a_toggle_holds_the_truth(case: str) -> None:
    assert coverage(2.0, TOGGLES[case], 80) >= 0.88


def sided(rng: Rng, blocks: int, level: float) -> list[np.ndarray]:
    """Blocks of ten iterations; each block has a luck of its own."""
    return [np.exp(0.15 * rng.standard_normal()) * iid(rng, 10, level) for _ in range(blocks)]


@pytest.mark.parametrize("blocks", [5, 10, 25])
def test_the_interval_of_an_ab_holds_the_truth(blocks: int) -> None:
    held = coverage(1.5, lambda rng: ab(sided(rng, blocks, 15.0), sided(rng, blocks, 10.0)), 100)
    assert held >= 0.88


def test_intervals_are_no_wider_than_they_need_to_be() -> None:
    effect = TOGGLES["300 and 300"](np.random.default_rng(1))
    assert effect is not None
    assert effect.high / effect.low < 1.25


def test_equal_halves_show_no_difference() -> None:
    def verdict(i: int) -> str:
        rng = np.random.default_rng([4, i])
        effect = before_after(stretch(wandering(rng, 500)), stretch(wandering(rng, 500)))
        assert effect is not None
        return effect.verdict

    assert [verdict(i) for i in range(30)].count("no difference shown") >= 26


def test_a_fix_of_something_that_grows() -> None:
    rng = np.random.default_rng(5)
    growing = np.linspace(11, 45, 376) * MS * np.exp(0.15 * rng.standard_normal(376))
    fixed = iid(rng, 2_000, 2.0)
    fixed[0] = 600 * MS
    effect = before_after(stretch(growing), stretch(fixed))
    assert effect is not None
    # The level right before the toggle counts, not the average of the growth.
    assert effect.low < np.median(growing[-120:]) / (2 * MS) < effect.high
    assert effect.ratio > np.median(growing) / (2 * MS)
    assert (effect.verdict, effect.before.direction) == ("faster", "rising")
    assert effect.n_after < 2_000
    assert effect.cpu is not None
    assert effect.cpu.value == pytest.approx(effect.ratio)
    assert before_after(stretch(growing), stretch(fixed)) == effect


def test_slow_first_iterations_are_left_out() -> None:
    rng = np.random.default_rng(6)
    after = iid(rng, 40, 20.0)
    after[:12] *= 20
    effect = before_after(stretch(iid(rng, 200)), stretch(after))
    assert effect is not None
    assert effect.verdict == "no difference shown"
    assert 25 <= effect.n_after <= 28


@pytest.mark.parametrize(
    ("before", "after", "level"),
    [(5, 100, 20.0), (100, 8, 100.0), (100, 300, 0.001), (0, 0, 20.0), (100, 0, 20.0)],
)
def test_nothing_is_said_too_early(before: int, after: int, level: float) -> None:
    rng = np.random.default_rng(7)
    assert before_after(stretch(iid(rng, before, level)), stretch(iid(rng, after, level))) is None


def test_blocks_will_do_as_well() -> None:
    rng = np.random.default_rng(8)
    sides = [stretch(iid(rng, 30_000, 2.0)), stretch(iid(rng, 30_000, 1.0))]
    blocks = [Blocks(), Blocks()]
    for it, mine in zip(sides, blocks, strict=True):
        for begin in range(0, len(it), 25):
            part = it.pick(slice(begin, begin + 25))
            mine.add(part)
    effect = before_after(*blocks)
    assert effect is not None
    assert effect.ratio == pytest.approx(2.0, rel=0.05)
    assert effect.low < 2.0 < effect.high
    # Five seconds of two milliseconds each, of all that is in the tail.
    assert 2_000 <= effect.n_before <= 3_000


def test_missing_cpu_time_is_none() -> None:
    rng = np.random.default_rng(9)
    sides = [stretch(iid(rng, 100), np.nan), stretch(iid(rng, 100, 10.0), np.nan)]
    effect = before_after(*sides)
    assert effect is not None
    assert effect.cpu is None
    idle = before_after(stretch(iid(rng, 100), 0.0), stretch(iid(rng, 100, 10.0), 0.0))
    assert idle is not None
    assert idle.cpu is None


def drifting(rng: Rng, pairs: int, ratio: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Blocks on a machine whose speed wanders by half, and one in five blocks is spoilt by a neighbour."""
    a, b = [], []
    for _ in range(pairs):
        mood = np.exp(0.4 * rng.standard_normal())
        for side, level in ((a, 10.0 * ratio), (b, 10.0)):
            spoilt = rng.uniform(1.5, 3.0) if rng.random() < 0.2 else 1.0
            side.append(mood * spoilt * iid(rng, 10, level))
    return a, b


def test_pairs_stand_a_machine_that_wanders() -> None:
    def effect(i: int, ratio: float) -> Effect:
        found = ab(*drifting(np.random.default_rng([11, i]), 20, ratio))
        assert found is not None
        return found

    equal = [effect(i, 1.0) for i in range(60)]
    assert sum(e.verdict == "no difference shown" for e in equal) >= 55
    # Unpaired, the machine's own wandering alone would take more room than this.
    assert np.median([e.high / e.low for e in equal]) < 1.8
    assert sum(effect(i, 1.5).verdict == "faster" for i in range(60)) >= 50


def test_ab_needs_five_pairs_and_takes_cpu_time() -> None:
    rng = np.random.default_rng(10)
    a, b = sided(rng, 8, 30.0), sided(rng, 8, 10.0)
    assert ab(a[:4], b) is None
    assert ab(a[:5], b) is not None
    assert ab([], []) is None
    effect = ab(a, b, [x / 2 for x in a], [x / 2 for x in b])
    assert effect is not None
    assert effect.cpu is not None
    assert effect.cpu.value == pytest.approx(effect.ratio)
    assert (effect.n_before, effect.n_after, effect.verdict) == (80, 80, "faster")
    assert effect.high / effect.low < 2.0
    assert ab(b, a, [x / 2 for x in b], [x / 2 for x in a]).verdict == "slower"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (2.0, 1.5, 2.5, "faster"),
        (0.5, 0.4, 0.6, "slower"),
        (1.5, 0.9, 2.5, "no difference shown"),
        (0.7, 0.4, 1.0, "no difference shown"),
        (1.04, 1.03, 1.05, "no difference shown"),
        (0.96, 0.955, 0.97, "no difference shown"),
        (1.08, 1.06, 1.1, "faster"),
    ],
)
def test_verdicts(value: float, low: float, high: float, verdict: str) -> None:
    assert Ratio(value, low, high).verdict == verdict


FLAT = Trend("flat", 0.0, 0.0, 0.0, 1.0, 100, "")
RISING = replace(FLAT, direction="rising", slope=0.00031)
FALLING = replace(FLAT, direction="falling", slope=-0.0002)


def test_sentences() -> None:
    fast = Effect(Ratio(12.4, 11.8, 13.1), None, RISING, FLAT, 100, 100)
    assert sentence(fast) == "×12.4 faster (95 % CI 11.8–13.1), slope +3.1 %/100 it → flat"
    assert sentence(fast, ascii=True) == "x12.4 faster (95 % CI 11.8-13.1), slope +3.1 %/100 it -> flat"
    slow = Effect(Ratio(0.4, 0.25, 0.5), None, FLAT, FALLING, 100, 100)
    assert sentence(slow) == "×2.5 slower (95 % CI 2.0–4.0), slope flat → −2.0 %/100 it"
    assert sentence(slow, ascii=True).isascii()
    none = Effect(Ratio(1.02, 0.97, 1.07), None, FLAT, FLAT, 100, 100)
    assert sentence(none) == "no difference shown (×1.02, 95 % CI 0.97–1.07)"
    huge = Effect(Ratio(449.2, 400.4, 501.0), None, FLAT, FLAT, 100, 100)
    assert sentence(huge) == "×449 faster (95 % CI 400–501)"


def test_a_sentence_tells_when_cpu_time_disagrees() -> None:
    effect = Effect(Ratio(1.6, 1.4, 1.8), Ratio(1.0, 0.9, 1.1), FLAT, FLAT, 100, 100)
    assert sentence(effect) == "×1.60 faster (95 % CI 1.40–1.80); CPU time: no difference shown"
