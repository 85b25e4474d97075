"""Shared by the tests of the screens."""

from __future__ import annotations

from pathlib import Path

import pytest
import ui_source
from screens import Act, text, until
from ui_source import Script


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs an act in an app that watches a script and has seen its first view."""

    async def run(
        act: Act, size: tuple[int, int] = (120, 40), *, notices: bool = False, **options: object
    ) -> None:
        script = Script()
        ui_source.freeze(monkeypatch, script)
        app = ui_source.app(tmp_path, script, **options)
        async with app.run_test(size=size, notifications=notices) as pilot:
            await until(pilot, lambda: "600 it" in text(app) and "latency" in text(app))
            await act(pilot, app, script)

    return run
