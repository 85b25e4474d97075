"""The line of a panel: the verdict always, the numbers as there is room, and nothing that comes and goes."""

from __future__ import annotations

import pytest
import ui_source
from screens import text, until
from ui_source import Script


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ((200, 50), ("latency per iteration", "median", "p95", "rising")),
        ((120, 40), ("latency", "median", "rising")),
        ((80, 24), ("latency", "median", "rising")),
        ((60, 16), ("latency", "rising")),
    ],
)
async def test_as_much_as_there_is_room_for(play, size, said):
    async def act(pilot, app, script):
        await until(pilot, lambda: "rising" in text(app))
        line = next(line for line in text(app).splitlines() if "latency" in line and "ms" in line)
        assert all(word in line for word in said) and "…" not in line
        panel = app.screen.query_one("#panel-latency")
        wide, narrow = (("9.99 ms", f"median {n} ms", f"p95 {n} ms") for n in ("1,234.5", "1.2"))
        panel.write_line(wide, "rising", "rising +1,234 %/100 it")
        shape = panel._fit
        panel.write_line(narrow, "flat", "flat")
        assert panel._fit == shape

    await play(act, size)


async def test_the_first_seconds_fill_the_width(tmp_path, monkeypatch):
    script = Script(4)
    ui_source.freeze(monkeypatch, script)
    app = ui_source.app(tmp_path, script)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "80 it" in text(app))
        assert app._lens.column_seconds <= 0.15  # the panels may not have their width yet
        script.play(16)
        await until(pilot, lambda: 0.1 < app._lens.column_seconds < 0.25)
        script.play(60)
        await until(pilot, lambda: app._lens.column_seconds == 0.5)
        script.play(60)
        await until(pilot, lambda: "2,800 it" in text(app))
        assert app._lens.column_seconds == 0.5


@pytest.mark.parametrize("size", [(200, 50), (120, 40), (80, 24), (60, 16)])
async def test_the_telling_curves_are_there_at_every_size(play, size):
    async def act(pilot, app, script):
        await until(pilot, lambda: "steps kept" in text(app))
        shown = text(app)
        assert "latency" in shown and "now" in shown and "ms ┤" in shown
        assert ("─ memory" in shown) == (size[1] > 16)
        await pilot.press("1")
        await until(pilot, lambda: "│+1" in text(app))

    await play(act, size)


@pytest.mark.parametrize("name", ["latency", "rss"])
async def test_a_curve_has_the_colour_of_its_verdict(play, name):
    async def act(pilot, app, script):
        panel = app.screen.query_one(f"#panel-{name}")
        await until(pilot, lambda: panel.has_class("-rising"))
        alarm = panel.get_component_rich_style("curve--bar").color
        await pilot.press("1")
        await until(pilot, lambda: not panel.has_class("-rising"))
        assert panel.get_component_rich_style("curve--bar").color != alarm

    await play(act)
