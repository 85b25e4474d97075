"""What a click does: the same as the key."""

from __future__ import annotations

from screens import text, until

from tfslowtop.agent.protocol.events import SetFixes
from tfslowtop.ui.screens.detail import DetailScreen
from tfslowtop.ui.screens.main import MainScreen


async def click_on(pilot, words: str) -> None:
    """Where they stand on the screen."""
    await until(pilot, lambda: words in text(pilot.app))
    row, line = next((y, line) for y, line in enumerate(text(pilot.app).splitlines()) if words in line)
    await pilot.click(offset=(line.index(words) + 1, row))


async def test_clicks(play):
    async def act(pilot, app, script):
        await click_on(pilot, "append to a list")
        await until(pilot, lambda: "[x]" in text(app))
        assert script.sent == [SetFixes(("keep_list",))]
        await click_on(pilot, "─ memory")
        await until(pilot, lambda: isinstance(app.screen, DetailScreen))
        await click_on(pilot, "esc Back")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await click_on(pilot, "space Pause")
        await until(pilot, lambda: "PAUSED" in text(app))

    await play(act)
