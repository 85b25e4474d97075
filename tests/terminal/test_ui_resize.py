"""The terminal changes its size faster than the screen can follow."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Resize
from textual.geometry import Size
from ui_script import Recorded, app

from tfslowtop.ui.screens.main import MainScreen


@pytest.mark.asyncio
async def test_two_sizes_in_the_queue_do_not_take_turns_for_ever(monkeypatch):
    layouts: list[Size] = []
    resized = MainScreen._screen_resized

    def count(self: MainScreen, size: Size) -> None:
        layouts.append(size)
        resized(self, size)

    monkeypatch.setattr(MainScreen, "_screen_resized", count)
    attached = app(monkeypatch, Recorded())
    async with attached.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for size in (Size(120, 40), Size(100, 30)):
            attached.screen.post_message(Resize(size, size))
            attached.screen.call_later(lambda: None)
        for _ in range(5000):
            await asyncio.sleep(0)
        layouts.clear()
        for _ in range(5000):
            await asyncio.sleep(0)
        assert not layouts, "still busy"
        assert attached.screen.size == Size(80, 24), "the size that the terminal has"
