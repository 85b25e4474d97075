"""How the screens look, at three sizes. After a wanted change: `pytest tests/test_ui_snapshots.py
--snapshot-update`, and look at every picture that changed."""

from __future__ import annotations

import pytest

from tests import ui_source
from tests.test_ui_screens import text, until
from tests.ui_source import Script

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


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", SCREENS)
def test_screen(screen, size, tmp_path, monkeypatch, snap_compare):
    key, sign = SCREENS[screen]
    script = Script()
    ui_source.freeze(monkeypatch, script)
    app = ui_source.app(tmp_path, script)

    async def before(pilot):
        await until(pilot, lambda: "600 it" in text(app))
        await pilot.press("1")
        await until(pilot, lambda: "800 it" in text(app) and app._view.marks[-1].effect)
        if screen == "detail":
            app.screen.query_one("#panel-latency").focus()
        if key:
            await pilot.press(key)
        await until(pilot, lambda: sign in text(app))
        # The width of the curve is known after the first picture; two more views follow it.
        await pilot.pause(1.3)

    assert snap_compare(app, terminal_size=size, run_before=before)


def test_ascii(tmp_path, monkeypatch, snap_compare):
    script = Script()
    ui_source.freeze(monkeypatch, script)
    app = ui_source.app(tmp_path, script, ascii=True)

    async def before(pilot):
        await until(pilot, lambda: "600 it" in text(app))
        await pilot.press("F")
        await until(pilot, lambda: "^ rising" in text(app))
        await pilot.pause(1.3)

    assert snap_compare(app, terminal_size=(80, 24), run_before=before)
