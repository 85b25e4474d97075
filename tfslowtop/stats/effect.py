"""What a change did: a ratio with an interval, and a cautious verdict.

The unit is the block, not the iteration: neighbouring iterations share the same disturbances, so a thousand
of them are not a thousand independent measurements. Intervals are 95 %. For a toggle they come from a
bootstrap over block medians. For an A/B test they come from pairs, because two blocks that ran one after the
other share the state of the machine, and from ranks (Hodges–Lehmann, Wilcoxon), because a few pairs are
disturbed all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from .blocks import Blocks, Floats, Ints, Stretch
from .fit import warm_up
from .trend import Trend, describe_slope, trend

Verdict: TypeAlias = Literal["faster", "slower", "no difference shown"]

#: A growing series has no single level, so "before" is what was right before the toggle.
BEFORE_NS = 5_000_000_000
LEAST_BEFORE = 20
LEAST_AFTER = 10
LEAST_AFTER_NS = 500_000_000
#: Fewer pairs give no 95 % interval by ranks.
LEAST_PAIRS = 5
_LEAST_BLOCKS = 3
#: A ratio this close to one does not matter, however certain it is.
NEGLIGIBLE = 0.05
_MOST_BLOCKS = 40
_DRAWS = 1000
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Ratio:
    """Before divided by after, with its 95 % interval: above 1 is faster."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        near = 1.0 / (1.0 + NEGLIGIBLE) <= self.value <= 1.0 + NEGLIGIBLE
        if near or self.low <= 1.0 <= self.high:
            return "no difference shown"
        return "faster" if self.value > 1.0 else "slower"


@dataclass(frozen=True, slots=True)
class Effect:
    """What a toggle, or one side of an A/B test, changed. `cpu` is None where CPU time is not known."""

    wall: Ratio
    cpu: Ratio | None
    before: Trend
    after: Trend
    n_before: int
    n_after: int
    level_before: float = float("nan")
    """The typical time before, in seconds; for an A/B test, of side A."""
    level_after: float = float("nan")

    @property
    def ratio(self) -> float:
        return self.wall.value

    @property
    def low(self) -> float:
        return self.wall.low

    @property
    def high(self) -> float:
        return self.wall.high

    @property
    def verdict(self) -> Verdict:
        return self.wall.verdict


def _medians(values: Floats) -> Floats:
    """Return medians of at most 40 blocks of neighbours; a short stretch has one block per iteration."""
    values = values[np.isfinite(values)]
    if len(values) <= _MOST_BLOCKS:
        return values
    size = -(-len(values) // _MOST_BLOCKS)
    # Whole blocks only; the remainder is left out at the start, the oldest.
    medians: Floats = np.median(values[len(values) % size :].reshape(-1, size), axis=1)
    return medians


def _draw(rng: np.random.Generator, medians: Floats, run: int) -> Floats:
    """Return bootstrap medians. Runs of neighbours are drawn together, to keep what they have in common."""
    n = len(medians)
    runs = -(-n // run)
    first = rng.integers(0, n, (_DRAWS, runs, 1))
    # Runs wrap around, so that the ends are drawn as often as the middle.
    picked = (first + np.arange(run)).reshape(_DRAWS, -1)[:, :n] % n
    # Three times as fast as numpy.median on short rows.
    drawn = np.sort(medians[picked], axis=1)
    middle: Floats = 0.5 * (drawn[:, (n - 1) // 2] + drawn[:, n // 2])
    return middle


def _run(medians: Floats) -> int:
    """Choose how many neighbours to draw together: more where they are alike, with a margin for chance."""
    n, rest = len(medians), medians - medians.mean()
    energy = float(rest @ rest)
    rho = float(rest[1:] @ rest[:-1]) / energy if energy else 0.0
    rho = float(np.clip(rho + 1.0 / np.sqrt(n), 0.0, 0.9))
    return int(np.clip(round((1.0 + rho) / (1.0 - rho)), 1, max(1, n // 5)))


def _small(n: float) -> float:
    """Return how much wider than its bootstrap an interval from `n` values must be: Student's t, nearly."""
    free = n - 1
    t = _Z + (_Z**3 + _Z) / (4 * free) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * free**2)
    return t / _Z


def _ratio(before: Floats, after: Floats) -> Ratio | None:
    """Return the ratio of medians; None where one side has no blocks or no time at all."""
    if min(len(before), len(after)) < _LEAST_BLOCKS or min(before.min(), after.min()) <= 0.0:
        return None
    rng = np.random.default_rng(20)
    sides = [np.log(before), np.log(after)]
    runs = [_run(side) for side in sides]
    value = float(np.median(sides[0]) - np.median(sides[1]))
    draws = _draw(rng, sides[0], runs[0]) - _draw(rng, sides[1], runs[1])
    low, high = np.quantile(draws, (0.025, 0.975))
    wider = _small(min(len(side) / run for side, run in zip(sides, runs, strict=True)))
    return Ratio(
        float(np.exp(value)),
        float(np.exp(value - wider * max(0.0, value - low))),
        float(np.exp(value + wider * max(0.0, high - value))),
    )


def _paired_ratio(a: Floats, b: Floats) -> Ratio | None:
    """Return the typical ratio of a pair, from the medians of paired blocks; None below five pairs."""
    known = (a > 0.0) & (b > 0.0)  # NaN is not
    rest = np.log(a[known]) - np.log(b[known])
    n = len(rest)
    if n < LEAST_PAIRS:
        return None
    one, two = np.triu_indices(n)
    means = np.sort(0.5 * (rest[one] + rest[two]))
    spread = _Z * np.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
    # Half a place to the safe side: this many means may lie outside at either end.
    outside = max(0, int(len(means) / 2 - spread - 0.5))
    return Ratio(
        float(np.exp(np.median(means))),
        float(np.exp(means[outside])),
        float(np.exp(means[len(means) - 1 - outside])),
    )


def _latest(before: Stretch) -> Stretch:
    recent = int(np.searchsorted(before.start, before.start[-1] - BEFORE_NS))
    return before.pick(slice(min(recent, max(0, len(before) - LEAST_BEFORE)), None))


def _settled(after: Stretch) -> Stretch:
    """Drop the first iterations where they are slower, and always the very first: a fix may compile."""
    # In logarithms: otherwise one slow iteration late in the stretch outweighs the whole start.
    logs = np.log(np.maximum(after.wall, 1e-9))
    cut = warm_up(logs)
    slower = cut and np.median(logs[:cut]) > np.median(logs[cut:])
    return after.pick(slice(cut if slower else 1, None))


def before_after(before: Blocks | Stretch, after: Blocks | Stretch) -> Effect | None:
    """Compare the last seconds before a toggle with all that came since.

    None until there is enough data. Trends use all of the `Blocks`; the level before uses the tail.
    """
    tail = before.tail() if isinstance(before, Blocks) else before.ordered()
    since = after.stretch() if isinstance(after, Blocks) else after.ordered()
    if len(tail) < LEAST_AFTER or len(since) <= LEAST_AFTER:
        return None
    tail, since = _latest(tail), _settled(since)
    if len(since) < LEAST_AFTER or since.end_ns - int(since.start[0]) < LEAST_AFTER_NS:
        return None
    wall = _ratio(_medians(tail.wall), _medians(since.wall))
    if wall is None:
        return None
    cpu = _ratio(_medians(tail.cpu), _medians(since.cpu))
    levels = (float(np.median(_medians(side.wall))) for side in (tail, since))
    return Effect(wall, cpu, trend(before), trend(since), len(tail), len(since), *levels)


def between_runs(before: Stretch, after: Stretch) -> Effect | None:
    """Compare the iterations of two runs of a program, of which the second was changed.

    Where one run had more iterations than the other, the same ones of both are compared. None where there are
    too few.
    """
    one, two = before.ordered(), after.ordered()
    if not len(one) or not len(two):
        return None
    end = min(one.index[-1], two.index[-1])
    one, two = (side.pick(np.flatnonzero(side.index <= end)) for side in (one, two))
    if min(len(one), len(two)) <= _LEAST_BLOCKS:
        return None
    one, two = _settled(one), _settled(two)
    wall = _ratio(_medians(one.wall), _medians(two.wall))
    if wall is None:
        return None
    levels = (float(np.median(_medians(side.wall))) for side in (one, two))
    cpu = _ratio(_medians(one.cpu), _medians(two.cpu))
    return Effect(wall, cpu, trend(one), trend(two), len(one), len(two), *levels)


def ab(
    blocks_a: Sequence[Floats],
    blocks_b: Sequence[Floats],
    cpu_a: Sequence[Floats] = (),
    cpu_b: Sequence[Floats] = (),
) -> Effect | None:
    """Compare A with B, from pairs of blocks, each pair in random order; None below five pairs.

    The n-th block of A and the n-th of B ran one after the other. Each pair counts once, whatever its length.
    Above 1 means that B is faster.
    """
    pairs = min(len(blocks_a), len(blocks_b))
    sides = _block_medians(blocks_a[:pairs]), _block_medians(blocks_b[:pairs])
    wall = _paired_ratio(*sides)
    if wall is None:
        return None
    cpu = None
    if min(len(cpu_a), len(cpu_b)) >= pairs:
        cpu = _paired_ratio(_block_medians(cpu_a[:pairs]), _block_medians(cpu_b[:pairs]))
    one, two = _in_a_row(blocks_a, cpu_a), _in_a_row(blocks_b, cpu_b)
    levels = (float(np.nanmedian(side)) for side in sides)
    return Effect(wall, cpu, trend(one), trend(two), len(one), len(two), *levels)


def _block_medians(blocks: Sequence[Floats]) -> Floats:
    """Return one value per block; NaN where nothing is known."""
    known = [b[np.isfinite(b)] for b in blocks]
    return np.array([np.median(b) if len(b) else np.nan for b in known], np.float64)


def _in_a_row(walls: Sequence[Floats], cpus: Sequence[Floats]) -> Stretch:
    """Join one side's iterations as if nothing had run between them."""
    wall = np.concatenate(walls)
    cpu = np.concatenate(cpus) if len(cpus) == len(walls) else np.full(len(wall), np.nan)
    start: Ints = (1e9 * (np.cumsum(wall) - wall)).astype(np.int64)
    return Stretch(np.arange(len(wall), dtype=np.float64), start, wall, cpu)


def sentence(effect: Effect, ascii: bool = False) -> str:
    """Say `×12.4 faster (95 % CI 11.8–13.1), slope +3.1 %/100 it → flat`, or why nothing can be said."""
    times, dash = ("x", "-") if ascii else ("×", "–")
    value, low, high = effect.ratio, effect.low, effect.high
    if effect.verdict == "slower":
        value, low, high = 1.0 / value, 1.0 / high, 1.0 / low
    digits = 2 if value < 2.0 else 1 if value < 100.0 else 0
    figure, interval = f"{times}{value:.{digits}f}", f"95 % CI {low:.{digits}f}{dash}{high:.{digits}f}"
    if effect.verdict == "no difference shown":
        text = f"no difference shown ({figure}, {interval})"
    else:
        text = f"{figure} {effect.verdict} ({interval})"
    if slopes := describe_slopes(effect, ascii):
        text += f", slope {slopes}"
    if effect.cpu is not None and effect.cpu.verdict != effect.verdict:
        text += f"; CPU time: {effect.cpu.verdict}"
    return text


def describe_slopes(effect: Effect, ascii: bool = False) -> str:
    """Say `+3.1 %/100 it → flat`, or nothing where neither side has a slope.

    A slope that is not clear yet is settling: it may be anything a second later.
    """
    before, after = effect.before, effect.after
    if not any(side.direction in ("rising", "falling") for side in (before, after)):
        return ""
    then = "settling" if after.direction == "unclear" else describe_slope(after, ascii)
    if before.direction == "unclear":
        return f"now {then}"
    return f"{describe_slope(before, ascii)} {'->' if ascii else '→'} {then}"
