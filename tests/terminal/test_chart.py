"""The curve widgets in a running app: what is painted, what is not, and every size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.geometry import Region

from tfslowtop.ui.widgets.charts.axes import XAxis, nice_ticks
from tfslowtop.ui.widgets.charts.chart import Chart, Plot
from tfslowtop.ui.widgets.charts.drawing import CurveData, Mode


class Painted(Plot):
    """Counts what it asks Textual to paint."""

    def __init__(self, data: CurveData) -> None:
        super().__init__(data)
        self.asked: list[tuple[Region, ...]] = []

    def refresh(self, *regions: Region, **options: bool) -> Painted:
        if hasattr(self, "asked"):
            self.asked.append(regions)
        return super().refresh(*regions, **options)


class One(App[None]):
    CSS = "Plot { width: 40; height: 3; }  Chart { width: 60; height: 14; }"

    def __init__(self, curve: Plot) -> None:
        super().__init__()
        self.curve = curve

    def compose(self) -> ComposeResult:
        yield self.curve


def lines(curve: Plot) -> list[str]:
    return [curve.render_line(y).text for y in range(curve.size.height)]


def climb(n: int = 40, marks: tuple[int, ...] = ()) -> CurveData:
    return CurveData.of(np.linspace(1.0, 40.0, n), marks)


async def test_shows_what_it_was_given_at_the_right_edge() -> None:
    curve = Plot()
    async with One(curve).run_test():
        assert lines(curve) == [" " * 40] * 3
        curve.update(CurveData.of([8.0, 8.0]), now=0.0)
        assert lines(curve) == [" " * 38 + "▃▃", " " * 38 + "██", " " * 38 + "██"]
        assert curve.upper == 10.0
        assert curve.columns == 40


async def test_data_given_before_mounting_is_drawn() -> None:
    curve = Plot()
    curve.update(climb())
    async with One(curve).run_test():
        assert lines(curve)[2].endswith("█")


async def test_nothing_is_painted_when_nothing_changed() -> None:
    curve = Painted(climb())
    async with One(curve).run_test() as pilot:
        await pilot.pause()
        curve.update(climb(), now=1.0)
        curve.asked.clear()
        curve.update(climb(), now=2.0)
        curve.update(CurveData.of(climb().mid * 1.0001), now=3.0)
        assert curve.asked == []


async def test_only_changed_rows_are_painted() -> None:
    curve = Painted(CurveData.of([30.0] * 40))
    async with One(curve).run_test() as pilot:
        await pilot.pause()
        curve.update(CurveData.of([30.0] * 40), now=1.0)
        curve.asked.clear()
        curve.update(CurveData.of([30.0] * 39 + [33.0]), now=2.0)
        assert curve.asked == [(Region(0, 0, 40, 1),)] or curve.asked == [(Region(0, 1, 40, 1),)]


async def test_changed_rows_reach_the_screen() -> None:
    curve = Plot(CurveData.of([30.0] * 40))
    app = One(curve)
    async with app.run_test() as pilot:
        await pilot.pause()
        curve.update(CurveData.of([30.0] * 20 + [3.0] * 20), now=1.0)
        await pilot.pause()
        shown = [strip.text for strip in app.screen._compositor.render_strips()]
        assert [text[:40] for text in shown[:3]] == lines(curve)
        assert shown[1][25] == " "


async def test_resizing_draws_for_the_new_size() -> None:
    curve = Plot(climb(100))
    app = One(curve)
    async with app.run_test() as pilot:
        for width, height in ((60, 5), (10, 2), (1, 1), (0, 0), (40, 3)):
            curve.styles.width, curve.styles.height = width, height
            await pilot.pause()
            assert [len(text) for text in lines(curve)] == [width] * height
            assert not width or lines(curve)[height - 1][-1] in "█▇▆"


@pytest.mark.parametrize("mode", ["block", "braille", "ascii"])
async def test_a_chart_of_any_size_fills_it_exactly(mode: Mode) -> None:
    data = CurveData(*[climb(50).mid] * 3, marks=(0, 25, 49), labels=("1", "2", "1+2"))
    chart = Chart(data, mode=mode, formatter=lambda v: f"{v:g} ms", x_axis=XAxis.seconds_ago(25.0))
    async with One(chart).run_test(size=(90, 40)) as pilot:
        for width, height in sizes():
            chart.styles.width, chart.styles.height = width, height
            await pilot.pause()
            shown = lines(chart)
            assert [len(text) for text in shown] == [width] * height, (width, height)
            assert mode != "ascii" or all(text.isascii() for text in shown)


def sizes() -> Iterator[tuple[int, int]]:
    for width in (0, 1, 7, 17, 40, 80):
        for height in (0, 1, 4, 5, 6, 7, 20):
            yield width, height


async def test_a_chart_has_axes_in_units_and_named_marks() -> None:
    data = CurveData(*[climb(50).mid] * 3, marks=(25,), labels=("2",))
    chart = Chart(data, formatter=lambda v: f"{v:g} ms", x_axis=XAxis.seconds_ago(25.0))
    async with One(chart).run_test():
        shown = lines(chart)
        assert shown[1].startswith("50 ms ┤")
        assert sum("┤" in text for text in shown) == 3
        assert shown[-3].startswith(" 0 ms ┤")
        assert shown[-1].endswith("now") and "-10 s" in shown[-1]
        column = shown[0].index("2")
        assert all(text[column] in "│┼" for text in shown[1:-2])
        chart.update(data, x_axis=XAxis.iterations(0, 5000))
        assert "4,000" in lines(chart)[-1]


async def test_mode_and_theme_can_change_under_way() -> None:
    curve = Plot(climb(40, marks=(20,)))
    app = One(curve)
    async with app.run_test() as pilot:
        bar = next(iter(curve.render_line(2))).style
        curve.mode = "ascii"
        assert all(text.isascii() for text in lines(curve))
        app.theme = "textual-light"
        curve.styles.background = Color.parse("#ffffff")
        await pilot.pause()
        assert next(iter(curve.render_line(2))).style != bar


async def test_few_style_changes_in_a_row() -> None:
    random = np.random.default_rng(1)
    mid = random.uniform(1, 9, 40)
    curve = Plot(CurveData(mid * 0.9, mid, mid * random.uniform(1, 3, 40), (7,), np.full(40, 5.0)))
    async with One(curve).run_test():
        assert all(len(list(curve.render_line(y))) <= 12 for y in range(3))


@pytest.mark.parametrize("upper", [m * 10.0**e for m in (1, 2, 2.5, 5) for e in (-6, -1, 0, 3, 9)])
def test_a_nice_bound_has_three_to_five_ticks(upper: float) -> None:
    ticks = nice_ticks(0.0, upper, 5)
    assert 3 <= len(ticks) <= 5
    assert ticks[0] == 0.0 and ticks[-1] <= upper * 1.000001
