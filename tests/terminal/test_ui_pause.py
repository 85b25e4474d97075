"""A view that stands still stands still on every screen; a baseline stands behind every chart."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from screens import open_detail, text, until

from tfslowtop.sensors.host import HostReading, MachineReading
from tfslowtop.ui.screens.detail import DetailScreen
from tfslowtop.ui.screens.focus import FocusScreen
from tfslowtop.ui.screens.main import MainScreen
from tfslowtop.ui.widgets.charts.chart import Chart


def chart(app) -> Chart:
    return app.screen.query_one(Chart)


async def test_a_screen_that_is_opened_while_paused_shows_the_moment_of_the_pause(play):
    async def act(pilot, app, script):
        await pilot.press("space")
        still = app._paused_view
        script.play(5)
        await until(pilot, lambda: app._view.iterations == 700)
        for key in ("F", "escape"):
            await pilot.press(key)
            await pilot.pause(0.2)
            assert "PAUSED · running · 700 it" in text(app), "capture goes on, and says so"
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FocusScreen) and len(chart(app)._data.mid))
        assert chart(app)._data.mid.tolist() == pytest.approx(still.panel("latency").curve.mid, nan_ok=True)
        await pilot.press("tab")
        await until(pilot, lambda: "memory since start" in text(app))
        await pilot.press("escape")
        await open_detail(pilot, app)
        await until(pilot, lambda: "600 values since" in text(app))
        assert chart(app)._data.mid.tolist() == pytest.approx(still.panel("latency").curve.mid, nan_ok=True)
        await pilot.press("space")
        await until(pilot, lambda: "700 values since" in text(app) and "PAUSED" not in text(app))

    await play(act)


async def test_a_toggle_while_paused_is_sent_and_shown_as_asked_for(play):
    async def act(pilot, app, script):
        await pilot.press("space", "1")
        await until(pilot, lambda: "[…]" in text(app))
        assert [command.fixes for command in script.sent] == [("keep_list",)]
        await pilot.press("space")
        await until(pilot, lambda: "[x]" in text(app))

    await play(act)


async def test_while_paused_there_is_nothing_to_zoom(play):
    async def act(pilot, app, script):
        await pilot.press("space", "plus")
        await until(pilot, lambda: app._lens.column_seconds == 0.25)
        await pilot.press("space", "plus")
        assert app._lens.column_seconds == 0.1

    await play(act)


async def test_the_baseline_stands_behind_every_chart_and_goes_again(play):
    async def act(pilot, app, script):
        level = app._view.panel("latency").now
        await pilot.press("b")
        panel = app.screen.query_one("#panel-latency")
        await until(pilot, lambda: panel._data.ghost is not None)
        assert panel._data.ghost[-1] == level
        await pilot.press("1")
        await until(pilot, lambda: "[x]" in text(app))
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FocusScreen) and chart(app)._data.ghost is not None)
        assert chart(app)._data.ghost[-1] == level
        await pilot.press("escape")
        await open_detail(pilot, app)
        await until(pilot, lambda: "baseline" in text(app))
        assert isinstance(app.screen, DetailScreen) and chart(app)._data.ghost[-1] == level
        await pilot.press("b")
        await until(pilot, lambda: "baseline" not in text(app).lower().replace("b baseline", ""))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen) and panel._data.ghost is None)

    await play(act)


async def test_where_no_core_is_left_over_the_curves_move_half_as_often(play):
    async def act(pilot, app, script):
        usual = app._lens.refresh
        full = HostReading(0, 1, machine=MachineReading(cpus=2.0, cpu=199.0))
        app._run.sampler = SimpleNamespace(
            host=full, gpu=None, trouble=None, shown=lambda *told: None, stop=lambda **k: None
        )
        script.play(1)
        await until(pilot, lambda: app._lens.refresh == 2 * usual)

    await play(act)
