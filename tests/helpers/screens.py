"""What tests of the screens share: reading a screen, waiting for it, and an app with a scripted run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.pilot import Pilot
from ui_source import Script

from tfslowtop.ui.scenario_app import ScenarioApp
from tfslowtop.ui.screens.detail import DetailScreen

SIZES = [(120, 40), (80, 24), (60, 16)]
Act = Callable[[Pilot[None], ScenarioApp, Script], Awaitable[None]]


def text(app: ScenarioApp) -> str:
    """The screen as somebody reads it."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def until(pilot: Pilot[None], what: Callable[[], object], seconds: float = 60.0) -> None:
    for _ in range(int(seconds / 0.05)):
        await pilot.pause(0.05)
        if what():
            return
    raise AssertionError(f"waited {seconds} s in vain; the screen:\n{text(pilot.app)}")  # type: ignore[arg-type]


async def open_detail(pilot: Pilot[None], app: ScenarioApp, quantity: str = "latency") -> None:
    app.screen.query_one(f"#panel-{quantity}").focus()
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, DetailScreen))
