"""Make the pictures in this folder from real runs with real TensorFlow: `make screenshots`.

The app runs without a terminal (Textual draws into memory), its scenario in a real child process.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parent / "tests" / "corpus" / "scripts"
sys.path.insert(0, str(HERE.parent))

from animation import Recording  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

from tfslowtop.catalogue.find import all_entries, find  # noqa: E402
from tfslowtop.sources.script import ScriptSource  # noqa: E402
from tfslowtop.state.view import View  # noqa: E402
from tfslowtop.ui.base import WatchApp  # noqa: E402
from tfslowtop.ui.scenario_app import Options, ScenarioApp  # noqa: E402
from tfslowtop.ui.script_app import ScriptApp  # noqa: E402


async def until(pilot: Pilot[None], enough: Callable[[View], bool], seconds: float = 150.0) -> None:
    """Waits for real data to say so; a picture that never comes is an error."""
    app = pilot.app
    assert isinstance(app, WatchApp)
    deadline = time.monotonic() + seconds
    while app._view is None or not enough(app._view):
        if time.monotonic() > deadline:
            raise SystemExit("the run never showed what the picture is to show")
        await pilot.pause(0.2)
    await pilot.pause(0.5)


def save(pilot: Pilot[None], name: str) -> None:
    picture = pilot.app.export_screenshot()
    # Whoever looks at it has a monospaced font; the picture need not fetch one from the net.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    path = HERE / f"{name}.svg"
    path.write_text(picture.replace("font-family: Fira Code", "font-family: 'Fira Code'"))
    print(path)


def rising(view: View) -> bool:
    panel = view.panel("latency")
    return panel is not None and panel.trend is not None and panel.trend.direction == "rising"


def cured(view: View) -> bool:
    marks = view.marks
    trend = view.segments[-1].latency
    return (
        len(marks) == 2 and marks[-1].effect is not None and trend is not None and trend.direction == "flat"
    )


async def growing_graph() -> None:
    start = find("graph_growth")
    app = ScenarioApp(Options(all_entries(), start))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda view: rising(view) and view.iterations > 400)
        save(pilot, "before")
        await pilot.press("1")
        await until(pilot, lambda view: bool(view.marks) and view.marks[0].effect is not None)
        await pilot.pause(3)
        await pilot.press("2")
        await until(pilot, cured)
        await pilot.pause(4)
        save(pilot, "after")
        for key, name in (("c", "code"), ("F", "focus"), ("question_mark", "help")):
            await pilot.press(key)
            await pilot.pause(1.5)
            save(pilot, name)
            await pilot.press("escape")
            await pilot.pause(0.5)
        app.screen.query_one("#panel-latency").focus()
        await pilot.press("enter")
        await pilot.pause(1.5)
        save(pilot, "detail")
        await pilot.press("escape")
        await pilot.resize_terminal(80, 24)
        await pilot.pause(2.5)
        save(pilot, "80x24")


async def flattening() -> None:
    """A curve that climbs until two fixes flatten it, as a film at twice the speed."""
    app = ScenarioApp(Options(all_entries(), find("graph_growth")))
    film = Recording()

    async def record(seconds: float, enough: Callable[[View], bool] | None = None) -> None:
        begin = time.monotonic()
        while time.monotonic() - begin < seconds or not (enough is None or enough(app._view)):
            if time.monotonic() - begin > seconds + 60:
                raise SystemExit("the run never showed what the film is to show")
            film.take(app, (time.monotonic() - started) / 2)
            await pilot.pause(0.7)

    async with app.run_test(size=(96, 26)) as pilot:
        await until(pilot, lambda view: view.iterations > 20)
        started = time.monotonic()
        await record(8, rising)
        await pilot.press("1")
        await record(5, lambda view: bool(view.marks) and view.marks[0].effect is not None)
        await pilot.press("2")
        await record(8, cured)
        film.write(HERE / "flattening.svg", app)
        print(HERE / "flattening.svg")


async def myth() -> None:
    app = ScenarioApp(Options(all_entries(), find("large_arrays")))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda view: view.iterations > 100)
        await pilot.press("x")
        await until(pilot, lambda view: view.comparison is not None and view.comparison.blocks >= 15)
        save(pilot, "myth")


async def attached() -> None:
    """A script of somebody's own, and what is wrong with it."""
    os.chdir(SCRIPTS)
    app = ScriptApp(lambda: ScriptSource(["kalman.py"]), ascii=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda view: bool(view.findings) and view.ended is not None)
        await pilot.pause(1)
        save(pilot, "attach")
        await pilot.press("d", "enter")
        await pilot.pause(1.5)
        save(pilot, "finding")


if __name__ == "__main__":
    asyncio.run(growing_graph())
    asyncio.run(flattening())
    asyncio.run(myth())
    asyncio.run(attached())
