"""The series: bounded, honest about spikes, and steady under scrolling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfslowtop.stats.blocks import RecentRows
from tfslowtop.stats.series import BIN_NS, BINS, LEVELS, RAW, Series

SECOND = 1_000_000_000
BORN = 5_000 * SECOND


def times(*seconds: float) -> np.ndarray:
    return np.array([BORN + round(s * SECOND) for s in seconds], np.int64)


def steady(series: Series, begin: float, seconds: float, rate: int, value: float = 1.0) -> None:
    """Samples of one value at one rate, in batches of a second."""
    for second in np.arange(begin, begin + seconds):
        series.add(times(*(second + np.arange(rate) / rate)), np.full(rate, value))


def footprint(thing: object, seen: set[int] | None = None) -> int:
    """Bytes in the arrays that an object holds, its rings included."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, (list, tuple)):
        return sum(footprint(part, seen) for part in thing)
    return sum(footprint(part, seen) for part in getattr(thing, "__dict__", {}).values())


def test_nothing_yet() -> None:
    series = Series()
    series.add(times(), np.zeros(0))
    curve = series.curve(BORN, BORN + SECOND, 10)
    assert np.isnan([series.last, series.minimum, series.maximum, series.spread().quantile(0.5)]).all()
    assert np.isnan([curve.lo, curve.mid, curve.hi]).all()
    assert series.count == 0
    assert len(series.recent(5)) == 0
    assert len(series.spread().histogram().counts) == 0


@pytest.mark.parametrize("window", [0.5, 9.0, 60.0, 1_000.0, 40_000.0, 700_000.0])
@pytest.mark.parametrize("columns", [1, 7, 80, 300])
def test_a_spike_never_disappears(window: float, columns: int) -> None:
    rng = np.random.default_rng(1)
    series = Series()
    moments = np.sort(rng.uniform(0.0, window, 3_000))
    values = rng.uniform(1.0, 2.0, 3_000)
    spike = 1_234
    values[spike], values[spike + 1] = 99.0, 0.25
    for part in np.array_split(np.arange(3_000), 30):
        series.add(times(*moments[part]), values[part])
    curve = series.curve(BORN, BORN + round(window * SECOND) + 1, columns)
    assert len(curve.lo) == len(curve.mid) == len(curve.hi) == columns
    assert np.nanmax(curve.hi) == 99.0
    assert np.nanmin(curve.lo) == 0.25
    there = int((times(moments[spike])[0] - curve.start_ns) // curve.width_ns)
    near = slice(max(0, there - BIN_NS // curve.width_ns - 1), there + BIN_NS // curve.width_ns + 2)
    assert np.nanmax(curve.hi[near]) == 99.0
    drawn = ~np.isnan(curve.mid)
    assert (curve.lo[drawn] <= curve.mid[drawn]).all()
    assert (curve.mid[drawn] <= curve.hi[drawn]).all()


def test_an_old_spike_survives_a_million_seconds_of_calm() -> None:
    series = Series()
    series.add(times(3.0), np.array([50.0]))
    for begin in range(10, 1_000_010, 10_000):
        series.add(times(*np.arange(begin, begin + 10_000, 20.0)), np.full(500, 1.0))
    curve = series.curve(BORN, BORN + 1_000_010 * SECOND, 100)
    there = np.flatnonzero(~np.isnan(curve.hi))[0]
    assert curve.hi[there] == 50.0
    assert np.nanmax(curve.hi[there + 1 :]) == 1.0


def test_memory_does_not_grow() -> None:
    series = Series()
    assert footprint(series) < 30_000  # there may be hundreds that see little
    steady(series, 0, 300, 200)
    year = 10 * 365 * 86_400
    series.add_folded(BORN + 301 * SECOND, BORN + year * SECOND, 10**9, 0.5, 3.0, 1.0e9, [0.5, 1.0, 3.0])
    full = footprint(series)
    assert full < 1_200_000
    steady(series, 20 * year, 300, 200)
    assert footprint(series) == full
    assert series.count == 10**9 + 2 * 300 * 200


@given(st.lists(st.tuples(st.integers(0, 10**13), st.floats(0.0, 1e9)), min_size=1, max_size=60), st.data())
def test_bins_that_come_as_they_are_needed_lose_nothing(samples, data) -> None:
    at, values = (np.array(column) for column in zip(*samples, strict=True))
    step = data.draw(st.integers(1, len(samples)))
    grown, roomy = Series(), Series()
    roomy._allocate(np.full((LEVELS, 1), BINS, np.int64))
    for part in np.array_split(np.arange(len(samples)), step):
        for series in (grown, roomy):
            series.add(BORN + at[part], values[part])
    width = data.draw(st.integers(1, 10**13))
    for end in (BORN + int(at.max()) + 1, BORN + width):
        one, two = (series.curve(end - width, end, 50) for series in (grown, roomy))
        np.testing.assert_array_equal(one.hi, two.hi)
        np.testing.assert_array_equal(one.mid, two.mid)


def test_a_bar_keeps_its_samples_while_the_window_scrolls() -> None:
    rng = np.random.default_rng(2)
    series = Series()
    series.add(times(*np.sort(rng.uniform(0, 100, 5_000))), rng.lognormal(0, 0.5, 5_000))
    window, columns = 60 * SECOND, 97
    frames = [
        series.curve(BORN + e - window, BORN + e, columns) for e in range(70 * SECOND, 80 * SECOND, 10**8)
    ]
    bars: dict[int, tuple[float, float, float]] = {}
    for frame in frames:
        # The newest column may still be filling and the oldest is cut by the window's edge.
        for i in range(1, columns - 1):
            bar = (frame.lo[i], frame.mid[i], frame.hi[i])
            assert bars.setdefault(frame.start_ns + i * frame.width_ns, bar) == bar
    assert len(bars) > columns


def test_a_gap_is_a_gap_even_long_after_the_last_sample() -> None:
    series = Series()
    steady(series, 0, 10, 50)
    steady(series, 30, 10, 50)
    curve = series.curve(BORN, BORN + 4_000 * SECOND, 401)
    middle_of = BORN + curve.width_ns * np.arange(401) - BORN + curve.start_ns + curve.width_ns // 2 - BORN
    drawn = ~np.isnan(curve.mid)
    inside = ((middle_of > 0) & (middle_of < 10 * SECOND)) | (
        (middle_of > 30 * SECOND) & (middle_of < 40 * SECOND)
    )
    assert drawn.sum() == inside.sum() > 0
    assert (drawn == inside).all()


def test_the_middle_is_typical_not_the_mean() -> None:
    series = Series()
    values = np.ones(1_000)
    values[::50] = 500.0
    series.add(times(*np.linspace(0, 9.99, 1_000)), values)
    curve = series.curve(BORN, BORN + 10 * SECOND, 11)
    assert np.nanmax(curve.hi) == 500.0
    # Every bin has 5 samples at most one of which is a spike.
    assert np.nanmax(curve.mid) == 1.0


def test_missing_values_and_zeros() -> None:
    series = Series()
    series.add(times(0.0, 1.0, 2.0, 3.0), np.array([0.0, np.nan, 4.0, np.nan]))
    assert series.count == 2
    assert (series.minimum, series.maximum, series.last, series.total) == (0.0, 4.0, 4.0, 4.0)
    assert series.spread().quantile(0.25) == 0.0
    assert series.spread().histogram().zeros == 1.0
    curve = series.curve(BORN, BORN + 4 * SECOND, 5)
    at = [int((t - curve.start_ns) // curve.width_ns) for t in times(0.0, 1.0, 2.0, 3.0)]
    assert np.isnan(curve.mid[at]).tolist() == [False, True, False, True]
    series.add(times(5.0), np.array([np.nan]))
    assert series.last == 4.0


def test_slight_disorder_lands_where_it_belongs() -> None:
    tidy, untidy = Series(), Series()
    rng = np.random.default_rng(3)
    moments = np.arange(0, 20, 0.01)
    values = rng.lognormal(0, 0.3, len(moments))
    tidy.add(times(*moments), values)
    shuffled = np.argsort(moments + rng.uniform(0, 0.2, len(moments)))
    for part in np.array_split(shuffled, 40):
        untidy.add(times(*moments[part]), values[part])
    one, two = (s.curve(BORN, BORN + 20 * SECOND, 50) for s in (tidy, untidy))
    np.testing.assert_array_equal(one.lo, two.lo)
    np.testing.assert_array_equal(one.hi, two.hi)


def test_what_is_too_old_for_the_finest_level_does_not_overwrite_it() -> None:
    series = Series()
    late = BINS * BIN_NS / SECOND
    series.add(times(late + 1.0), np.array([2.0]))
    series.add(times(1.0), np.array([70.0]))
    assert np.nanmax(series.curve(BORN + round(late) * SECOND, BORN + round(late + 2) * SECOND, 5).hi) == 2.0
    assert np.nanmax(series.curve(BORN, BORN + round(late + 2) * SECOND, 50).hi) == 70.0


def test_one_batch_may_span_more_than_a_level() -> None:
    series = Series()
    moments = np.arange(0.0, 5_000.0, 1.0)
    series.add(times(*moments), moments + 1.0)
    whole = series.curve(BORN, BORN + 5_000 * SECOND, 100)
    assert np.nanmin(whole.lo) == 1.0
    assert np.nanmax(whole.hi) == 5_000.0
    sharp = series.curve(BORN + 4_990 * SECOND, BORN + 5_000 * SECOND, 11)
    assert sharp.width_ns == SECOND
    assert np.nanmin(sharp.lo) == (sharp.start_ns - BORN) / SECOND + 1.0


def test_folded_samples_stay_visible() -> None:
    series = Series()
    series.add_folded(BORN, BORN + 2 * SECOND, 1_000, 0.5, 40.0, 1_300.0, [0.5, 1.0, 1.2, 1.4, 40.0])
    curve = series.curve(BORN, BORN + 2 * SECOND, 21)
    drawn = ~np.isnan(curve.mid)
    assert drawn.sum() >= 20
    assert (curve.lo[drawn] == 0.5).all()
    assert (curve.hi[drawn] == 40.0).all()
    assert curve.mid[drawn] == pytest.approx(1.2)
    assert (series.count, series.total, series.last) == (1_000, 1_300.0, 1.2)
    assert series.spread().quantile(0.5) == pytest.approx(1.2, rel=0.02)
    series.add_folded(BORN, BORN, 0, 0.0, 0.0, 0.0, [])
    assert series.count == 1_000


def test_recent_values_are_exact_and_in_order() -> None:
    series = Series()
    values = np.arange(RAW + 700, dtype=np.float64)
    for part in np.array_split(values, 23):
        series.add(times(*part / 100), part)
    np.testing.assert_array_equal(series.recent(5), values[-5:])
    np.testing.assert_array_equal(series.recent(10 * RAW), values[-RAW:])
    np.testing.assert_array_equal(series.recent_times(3), times(*values[-3:] / 100))


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(0, 40))
def test_a_ring_is_the_tail_of_a_list(batches: list[int], n: int) -> None:
    ring, kept, value = RecentRows(10, np.int64, np.float64), list[int](), 0
    for size in batches:
        new = np.arange(value, value + size)
        value += size
        ring.push(new, new / 2)
        kept = [*kept, *new.tolist()][-10:]
    numbers, halves = ring.last(n)
    assert numbers.tolist() == (kept[-n:] if n else [])
    assert (halves * 2).tolist() == numbers.tolist()


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1.0, 3e7, 5e11]), st.floats(0.01, 0.99))
def test_quantiles_are_within_two_percent(seed: int, scale: float, q: float) -> None:
    values = scale * np.random.default_rng(seed).lognormal(0, 1.5, 1_001)
    series = Series()
    series.add(times(*np.arange(1_001) / 100), values)
    ordered = np.sort(values)
    place = q * 1_001
    # The rank itself has no unique value: any between the neighbours is right.
    low, high = ordered[max(0, int(place) - 1)], ordered[min(1_000, int(place) + 1)]
    assert low * 0.98 <= series.spread().quantile(q) <= high * 1.02


def test_quantiles_and_the_histogram_start_again_at_a_mark() -> None:
    series = Series()
    steady(series, 0, 3, 100, value=10.0)
    series.mark()
    assert np.isnan(series.spread().quantile(0.5))
    steady(series, 3, 3, 100, value=2.0)
    assert series.spread().quantile(0.01) == series.spread().quantile(0.99) == 2.0
    assert series.spread().histogram().counts.sum() == 300
    assert series.maximum == 10.0
    assert series.count == 600


@pytest.mark.parametrize("bars", [1, 8, 40])
def test_the_histogram_counts_everything_once(bars: int) -> None:
    series = Series()
    values = np.random.default_rng(4).lognormal(2, 1, 2_000)
    series.add(times(*np.arange(2_000) / 100), values)
    shown = series.spread().histogram(bars)
    assert len(shown.counts) <= bars
    assert len(shown.edges) == len(shown.counts) + 1
    expected, _ = np.histogram(values, shown.edges)
    assert shown.counts.sum() == 2_000
    # A value may sit on an edge to within rounding.
    assert np.abs(shown.counts - expected).max() <= 1
