"""How the screens look, at three sizes. After a wanted change: `pytest tests/terminal/test_ui_snapshots.py
--snapshot-update`, and look at every picture that changed."""

from __future__ import annotations

import pytest
import ui_source
from screens import text, until
from textual.pilot import Pilot
from textual.widgets import Input
from ui_source import Script

from tfslowtop.ui.scenario_app import Options, ScenarioApp

SIZES = [(120, 40), (80, 24), (60, 16)]
SCREENS = {
    "main": ("", "faster"),
    "detail": ("enter", "Distribution"),
    "code": ("c", "Measured"),
    "focus": ("F", "faster"),
    "help": ("question_mark", "Fixes"),
    "output": ("o", "Epoch 1"),
    "params": ("p", "numbers per step"),
}


async def settled(pilot: Pilot[None]) -> None:
    """Until a few views in a row make no difference: widths are known only after the first picture."""
    app, same, last, seen = pilot.app, 0, "", None
    while same < 4:
        await pilot.pause(0.05)
        if app._view is not seen:
            seen, before, last = app._view, last, text(app)
            same = same + 1 if last == before else 0
    for input in app.screen.query(Input):
        input.cursor_blink = False
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", SCREENS)
def test_screen(screen, size, tmp_path, monkeypatch, snap_compare):
    key, sign = SCREENS[screen]
    monkeypatch.setattr("tfslowtop.ui.screens.detail._LISTS_EVERY", 0.0)
    script = Script()
    ui_source.freeze(monkeypatch, script)
    app = ui_source.app(tmp_path, script)

    async def before(pilot):
        await until(pilot, lambda: "600 it" in text(app))
        await pilot.press("1")
        await until(pilot, lambda: "800 it" in text(app) and app._view.marks[-1].effect)
        await settled(pilot)
        if screen == "detail":
            app.screen.query_one("#panel-latency").focus()
        if key:
            await pilot.press(key)
        await until(pilot, lambda: sign in text(app))
        await settled(pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_list(size, tmp_path, monkeypatch, snap_compare):
    """Before anything runs: the list, and a page about the selected scenario where there is room."""
    script = Script()
    ui_source.freeze(monkeypatch, script)
    app = ScenarioApp(Options([ui_source.entry(tmp_path)], source=lambda _: script))

    async def before(pilot):
        await until(pilot, lambda: "History grows" in text(app) and "% CPU" in text(app))

    assert snap_compare(app, terminal_size=size, run_before=before)


def test_ascii(tmp_path, monkeypatch, snap_compare):
    script = Script()
    ui_source.freeze(monkeypatch, script)
    app = ui_source.app(tmp_path, script, ascii=True)

    async def before(pilot):
        await until(pilot, lambda: "600 it" in text(app))
        await pilot.press("F")
        await until(pilot, lambda: "^ rising" in text(app))
        await settled(pilot)

    assert snap_compare(app, terminal_size=(80, 24), run_before=before)
