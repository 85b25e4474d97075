"""`--ascii` means seven bits, also where Textual paints; NO_COLOR means that words and signs tell all."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from screens import open_detail, text, until
from textual.color import Color
from textual.command import CommandPalette

from tfslowtop.ui.ascii_filter import AsciiFilter


def strangers(app) -> set[str]:
    return {character for character in text(app) if not character.isascii()}


async def test_every_screen(play):
    async def act(pilot, app, script):
        await pilot.press("1", "b")
        await until(pilot, lambda: "[x]" in text(app) and "faster" in text(app))
        assert not strangers(app)
        for key in ("c", "F", "o", "m", "question_mark", "p"):
            await pilot.press(key)
            await pilot.pause(0.4)
            assert not strangers(app), key
            await pilot.press("escape")
        for quantity in ("latency", "rss", "retraces"):
            app.screen.query_one(f"#panel-{quantity}").focus()
            await until(pilot, lambda: "enter Detail" in text(app))
            await open_detail(pilot, app, quantity)
            await pilot.pause(0.4)
            assert not strangers(app)
            await pilot.press("escape")

    await play(act, size=(80, 24), ascii=True)


async def test_textuals_own_palette_themes_and_notices(play):
    async def act(pilot, app, script):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette) and "Restart" in text(app))
        assert not strangers(app)
        await pilot.press(*"pause")
        await pilot.pause(0.5)
        assert not strangers(app)
        await pilot.press("escape")
        app.search_themes()
        await until(pilot, lambda: "gruvbox" in text(app))
        assert not strangers(app)
        await pilot.press("escape")
        app.notify("A notice …", title="Über")
        await until(pilot, lambda: "A notice" in text(app))
        assert not strangers(app)

    await play(act, notices=True, ascii=True)


@pytest.mark.parametrize("line", ["🔎 Über │ ▁▂▃█ 日本 ½ ﬁ ⚠", "┌──┐", "plain"])
def test_nothing_moves(line):
    (segment,) = AsciiFilter().apply([Segment(line)], Color(0, 0, 0))
    assert segment.text.isascii() and cell_len(segment.text) == cell_len(line)


async def test_no_colour_still_tells_everything(play, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    async def act(pilot, app, script):
        await until(pilot, lambda: "▲ rising" in text(app) and "[ ]" in text(app))
        await pilot.press("c")
        await until(pilot, lambda: "-     s[1:]" in text(app))
        await pilot.press("F")
        await until(pilot, lambda: "▲ rising" in text(app))

    await play(act)
