"""The pure part of the curves: right size, nothing lost, nothing invented, for any input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfslowtop.ui.widgets.charts.drawing import (
    MAX_SPANS,
    ROLES,
    CurveData,
    Floats,
    Mode,
    columns_per_cell,
    draw,
    fit,
    peak,
)
from tfslowtop.ui.widgets.charts.scale import FixedScale, StickyScale, nice_ceiling

MODES: tuple[Mode, ...] = ("block", "braille", "ascii")
modes = st.sampled_from(MODES)
heights = st.integers(0, 12)
anything = st.floats(allow_nan=True, allow_infinity=True)
positive = st.floats(0.0, 1e6)


def array(values: list[float]) -> Floats:
    return np.array(values, np.float64)


@st.composite
def curves(draw_: st.DrawFn) -> CurveData:
    n = draw_(st.integers(0, 50))
    column = st.lists(anything, min_size=n, max_size=n).map(array)
    marks = tuple(draw_(st.lists(st.integers(-3, 60), max_size=5)))
    ghost = draw_(st.none() | column)
    return CurveData(draw_(column), draw_(column), draw_(column), marks, ghost)


def texts(data: CurveData, height: int, upper: float, mode: Mode) -> list[str]:
    return ["".join(text for text, _ in row) for row in draw(data, height, upper, mode)]


@given(curves(), heights, anything, modes)
def test_any_input_gives_the_right_number_of_rows_and_cells(
    data: CurveData, height: int, upper: float, mode: Mode
) -> None:
    rows = draw(data, height, upper, mode)
    cells = math.ceil(len(data.mid) / columns_per_cell(mode))
    assert len(rows) == height
    for row in rows:
        assert sum(len(text) for text, _ in row) == cells
        assert all(text and role in ROLES for text, role in row)
        # Marks may cut a row further; nothing else may.
        assert len(row) <= MAX_SPANS + 2 * len(data.marks) + 1


@given(curves(), heights, anything)
def test_ascii_mode_is_seven_bit(data: CurveData, height: int, upper: float) -> None:
    assert all(text.isascii() and text.isprintable() for text in texts(data, height, upper, "ascii"))


@given(curves(), st.integers(0, 60))
def test_fit_keeps_the_newest_columns_and_their_marks(data: CurveData, columns: int) -> None:
    fitted = fit(data, columns)
    keep = min(columns, len(data.mid))
    assert len(fitted.lo) == len(fitted.mid) == len(fitted.hi) == columns
    np.testing.assert_array_equal(fitted.mid[columns - keep :], data.mid[len(data.mid) - keep :])
    assert np.isnan(fitted.mid[: columns - keep]).all()
    assert all(0 <= mark < columns for mark in fitted.marks)


@given(st.lists(positive, min_size=2, max_size=50), st.integers(1, 12), modes)
def test_the_highest_column_shows_ink_in_the_row_of_its_height(
    hi: list[float], height: int, mode: Mode
) -> None:
    highest = array(hi)
    data = CurveData(highest * 0, highest * 0.1, highest)
    upper = StickyScale().update(peak(data), 0.0)
    rows = texts(fit(data, 50), height, upper, mode)
    column = 50 - len(hi) + int(np.argmax(highest))
    steps = 8 * height if mode != "braille" else 4 * height - 1
    level = round(highest.max() / upper * steps)
    from_bottom = level // 4 if mode == "braille" else max(0, level - 1) // 8
    assert rows[height - 1 - from_bottom][column // columns_per_cell(mode)] not in (" ", "·")


@given(st.floats(1e-9, 1e9), st.integers(1, 12), st.integers(1, 60), modes)
def test_a_flat_series_gives_equal_bars(value: float, height: int, n: int, mode: Mode) -> None:
    n *= columns_per_cell(mode)
    upper = StickyScale().update(value, 0.0)
    for row in texts(CurveData.of([value] * n), height, upper, mode):
        assert len(set(row)) == 1


@given(st.lists(positive, min_size=1, max_size=50), st.integers(1, 12), st.sampled_from(("block", "ascii")))
def test_monotone_values_give_monotone_heights(values: list[float], height: int, mode: Mode) -> None:
    data = CurveData.of(sorted(values))
    rank = {c: k for k, c in enumerate(" ▁▂▃▄▅▆▇█" if mode == "block" else " .o#")}
    rows = texts(data, height, StickyScale().update(peak(data), 0.0), mode)
    tops = [tuple(rank[row[x]] for row in rows) for x in range(len(values))]
    assert tops == sorted(tops)


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("mode", MODES)
def test_noise_does_not_fill_the_height(noise: float, mode: Mode) -> None:
    mid = 7.3 * (1 + noise * np.random.default_rng(3).uniform(-1, 1, 60))
    data = CurveData(mid * (1 - noise), mid, mid * (1 + noise))
    rows = texts(data, 3, StickyScale().update(peak(data), 0.0), mode)
    if mode == "braille":
        bits = [1 | 8, 2 | 16, 4 | 32, 64 | 128]
        used = [any(ord(c) != 32 and (ord(c) - 0x2800) & bit for c in row) for row in rows for bit in bits]
        assert sum(used) <= 3, rows  # of 12
    else:
        assert len([row for row in rows if not set(row) <= {" ", "█", "#"}]) <= 1, rows


def test_zero_is_not_a_gap() -> None:
    assert texts(CurveData.of([math.nan, 0.0, math.nan]), 2, 1.0, "block") == ["   ", " ▁ "]


def test_a_spike_is_seen_beside_and_above_its_bar() -> None:
    flat = array([2.0] * 5)
    spike = array([2.0, 2.0, 9.0, 2.0, 2.0])
    assert texts(CurveData(flat, flat, spike), 3, 10.0, "block") == ["  ░  ", "  ░  ", "▅▅▅▅▅"]
    beyond = array([2.0, 2.0, 99.0, 2.0, 2.0])
    assert texts(CurveData(flat, flat, beyond), 3, 10.0, "ascii")[0] == "  ^  "


def test_a_mark_runs_through_all_rows_and_shows_its_own_value() -> None:
    data = CurveData.of([8.0, 8.0, 1.0], marks=(1,))
    assert draw(data, 3, 10.0, "block") == [
        [("▃", "bar"), ("┼ ", "mark")],
        [("█", "bar"), ("│ ", "mark")],
        [("█", "bar"), ("│", "mark"), ("▂", "bar")],
    ]


@pytest.mark.parametrize(("mode", "free", "in_bar"), [("block", "·", "▓"), ("ascii", "-", "=")])
def test_the_ghost_is_seen_above_and_inside_the_bars_without_colour(
    mode: Mode, free: str, in_bar: str
) -> None:
    ghost = array([5.0] * 4)
    low, high = CurveData.of([1.0] * 4), CurveData.of([10.0] * 4)
    above = texts(CurveData(low.lo, low.mid, low.hi, (), ghost), 3, 10.0, mode)
    inside = texts(CurveData(high.lo, high.mid, high.hi, (), ghost), 3, 10.0, mode)
    assert above[1] == free * 4
    assert inside[1].count(in_bar) == 2


def test_braille_has_two_columns_in_a_cell_and_no_holes() -> None:
    assert texts(CurveData.of([0.0, 10.0]), 1, 10.0, "braille") == ["⡸"]
    rows = texts(CurveData.of([0.0, 0.0, 10.0, 10.0]), 3, 10.0, "braille")
    assert [row[1] != " " for row in rows] == [True, True, True]


@given(st.floats(1e-290, 1e290))
def test_nice_numbers_are_near_above_and_round(value: float) -> None:
    nice = nice_ceiling(value)
    assert value <= nice * (1 + 1e-6) and nice <= value * 2.5 * (1 + 1e-6)
    assert float(f"{nice:.1e}") == pytest.approx(nice, rel=1e-9)


class TestStickyScale:
    @given(st.lists(anything, max_size=30))
    def test_the_bound_is_always_usable(self, peaks: list[float]) -> None:
        scale = StickyScale()
        for now, value in enumerate(peaks):
            upper = scale.update(value, float(now))
            assert math.isfinite(upper) and upper > 0
            if 0 < value < 1e299:
                assert upper >= value

    def test_rises_at_once(self) -> None:
        scale = StickyScale()
        assert scale.update(4.0, 0.0) == 5.0
        assert scale.update(40.0, 0.01) == 50.0

    def test_noise_does_not_move_it(self) -> None:
        random = np.random.default_rng(1)
        for centre in np.geomspace(1, 10, 50):
            scale = StickyScale()
            bounds = [
                scale.update(centre * (1 + 0.05 * random.uniform(-1, 1)), 0.125 * k) for k in range(400)
            ]
            # It may have to rise once, when the first values were low ones.
            assert len(set(bounds)) <= 2 and bounds == sorted(bounds)

    def test_falls_in_one_step_within_two_seconds_of_the_high_part_leaving(self) -> None:
        scale = StickyScale()
        window = [40.0] * 60
        bounds = []
        for k in range(80):  # a fix: ten times faster from now on, two columns a second
            window = [*window[1:], 4.0]
            bounds.append(scale.update(max(window), 0.5 * k))
        assert set(bounds[:59]) == {50.0}
        assert bounds[64:] == [5.0] * 16
        assert len(set(bounds)) == 2

    def test_a_short_dip_is_not_followed(self) -> None:
        scale = StickyScale()
        scale.update(40.0, 0.0)
        assert scale.update(4.0, 10.0) == 50.0
        assert scale.update(40.0, 10.5) == 50.0
        assert scale.update(4.0, 11.2) == 50.0

    def test_nothing_to_go_by_keeps_the_bound(self) -> None:
        scale = StickyScale(floor=2.0)
        assert scale.update(math.nan, 0.0) == 2.0
        scale.update(40.0, 1.0)
        assert scale.update(0.0, 100.0) == 50.0

    def test_a_fixed_one_is_fixed(self) -> None:
        assert FixedScale(100.0).update(250.0, 0.0) == 100.0


def test_peak_skips_what_is_not_finite_and_sees_the_ghost() -> None:
    nan, inf = math.nan, math.inf
    assert peak(CurveData.of([])) == 0.0
    assert peak(CurveData.of([nan, inf, -inf, -3.0])) == 0.0
    data = CurveData.of([1.0, nan, 2.0])
    assert peak(CurveData(data.lo, data.mid, data.hi, (), array([7.0, inf, nan]))) == 7.0


def test_a_towering_first_call_may_stick_out() -> None:
    data = CurveData.of([2000.0, 5.0, 6.0, 5.0, 4.0, 5.0])
    assert peak(data) == 2000.0
    assert peak(data, outliers=2) == 6.0
    assert peak(CurveData.of([8.0, 5.0, 6.0, 5.0, 4.0, 5.0]), outliers=2) == 8.0


def test_one_slow_first_step_does_not_squeeze_the_rise() -> None:
    rise = np.linspace(10.0, 30.0, 120)
    assert peak(CurveData.of(np.append([90.0, 90.0], rise)), outliers=6) == 30.0
    assert peak(CurveData.of(rise), outliers=6) == 30.0


def test_a_level_that_stays_is_no_outlier() -> None:
    assert peak(CurveData.of([5.0] * 100 + [50.0] * 2), outliers=6) == 5.0
    assert peak(CurveData.of([5.0] * 100 + [50.0] * 3), outliers=6) == 50.0


def test_braille_has_a_line_and_a_dotted_band() -> None:
    mid = array([5.0] * 4)
    assert texts(CurveData(mid - 4, mid, mid + 4), 2, 10.0, "braille") == ["⣒⣒", "⠒⠒"]
    filled = texts(CurveData(mid, mid, mid, filled=True), 2, 7.0, "braille")
    assert filled == ["⣤⣤", "⣿⣿"]


@pytest.mark.parametrize("mode", MODES)
def test_marks_are_labelled_inside_the_curve(mode: Mode) -> None:
    columns = 20 * columns_per_cell(mode)
    marks = tuple(k * columns_per_cell(mode) for k in (3, 4, 19))
    data = CurveData(*[array([5.0] * columns)] * 3, marks=marks, labels=("+1", "+2", "-1"))
    top = "".join(text for text, _ in draw(data, 3, 10.0, mode, labelled=True)[0])
    assert top[1:7].strip() in ("+1||+2", "+1││+2") and top[17:19] == "-1"


def test_maxima_raise_the_scale_a_little_above_the_typical_at_most():
    mid = array([5.0] * 10)
    data = CurveData(mid, mid, array([6.0] * 8 + [500.0] * 2))
    assert peak(data) == 500.0
    assert peak(data, outliers=2) == 7.0
    assert peak(CurveData(mid, mid, mid + 1), outliers=2) == 6.0
