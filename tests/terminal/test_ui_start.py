"""The first seconds: nothing runs yet, and somebody has never seen this before."""

from __future__ import annotations

import re

import pytest
import ui_source
from screens import SIZES, text, until
from ui_source import Script

from tfslowtop.agent.protocol.events import Block, Compare
from tfslowtop.ui.scenario_app import Options, ScenarioApp
from tfslowtop.ui.widgets.footer import KeyFooter


def opened(tmp_path, monkeypatch, **options: object) -> tuple[ScenarioApp, Script]:
    script = Script()
    ui_source.freeze(monkeypatch, script)
    entry = ui_source.entry(tmp_path)
    return ScenarioApp(Options([entry], source=lambda _: script, **options)), script  # type: ignore[arg-type]


def intro(app: ScenarioApp) -> str:
    """The page about a scenario that does not run, without its line breaks."""
    page = " ".join(str(part.render()) for part in app.screen.query("#intro Static"))
    return " ".join(page.split())


@pytest.mark.parametrize("size", SIZES)
async def test_the_list_is_there_and_enter_starts(tmp_path, monkeypatch, size):
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "History grows" in text(app) and "enter Start" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "600 it" in text(app) and "latency" in text(app))


async def test_the_first_picture_has_its_footer(tmp_path, monkeypatch):
    monkeypatch.setattr(KeyFooter, "bindings_changed", lambda self, screen: None)  # what comes after it
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "q Quit ? Help" in text(app))


async def test_enter_starts_it_also_from_the_fixes_as_the_headline_says(tmp_path, monkeypatch):
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "enter Start" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "enter to start" in text(app))
        app.screen.query_one("#fixes").focus()
        await pilot.press("enter")
        await until(pilot, lambda: "600 it" in text(app))


async def test_the_headline_follows_the_width_while_nothing_runs(tmp_path, monkeypatch):
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "enter to start" in text(app))
        await pilot.press("escape")
        await pilot.resize_terminal(60, 16)
        await until(pilot, lambda: text(app).splitlines()[0].rstrip().endswith("enter to start"))


async def test_the_search_says_how_to_get_out_of_it(tmp_path, monkeypatch):
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "enter Start" in text(app))
        await pilot.press("slash", *"grow")
        await until(pilot, lambda: "enter To the list esc Back" in text(app))
        await pilot.press("down")
        assert app.focused is app._main.catalogue.list
        await pilot.press("enter")
        await until(pilot, lambda: "600 it" in text(app))


async def test_help_tells_the_keys_of_a_run_before_there_is_one(tmp_path, monkeypatch):
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "enter Start" in text(app))
        await pilot.press("question_mark")
        await until(pilot, lambda: "Once a scenario runs" in text(app))
        later = text(app).partition("Once a scenario runs")[2]
        for key in ("1-9", "0", "space", "x", "b", "F", "p", "o", "m"):
            assert f"  {key}  " in later, later


async def test_while_two_are_compared_the_headline_says_so(tmp_path, monkeypatch):
    app, script = opened(tmp_path, monkeypatch)
    async with app.run_test(size=(60, 16)) as pilot:  # too low for the card
        await until(pilot, lambda: "enter Start" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "600 it" in text(app))
        await pilot.press("x")
        await until(pilot, lambda: any(isinstance(command, Compare) for command in script.sent))
        script.put(Block(600, 0, (), script.now))
        script.play(1)
        await until(pilot, lambda: "A/B" in text(app).splitlines()[0])


@pytest.mark.parametrize("size", SIZES)
async def test_before_a_start_there_are_claim_and_code_and_no_empty_charts(tmp_path, monkeypatch, size):
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "enter Start" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "enter to start" in text(app))
        await until(pilot, lambda: "- s[1:] = s[1:] + new" in intro(app))
        assert "Every step gets slower" in text(app) and "not measured yet" in text(app)
        assert "why the time of a function rises" in intro(app)
        assert "─ latency ─" not in text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "600 it" in text(app) and "─ latency ─" in text(app))
        assert not app.screen.query_one("#intro").display


async def test_what_was_measured_is_in_the_list_the_next_time(tmp_path, monkeypatch):
    file = tmp_path / "state" / "measured.json"
    app, _ = opened(tmp_path, monkeypatch, measured=file)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "enter Start" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "600 it" in text(app))
        assert "×" not in text(app).splitlines()[3]
        await pilot.press("1")
        await until(pilot, lambda: re.search(r"> History grows +×\d", text(app)))
    app, _ = opened(tmp_path, monkeypatch, measured=file)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: re.search(r"  History grows +×\d", text(app)))
        await until(pilot, lambda: "just now" in intro(app))


async def test_other_parameters_are_not_kept_as_a_measurement(tmp_path, monkeypatch):
    app, _ = opened(tmp_path, monkeypatch)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "enter Start" in text(app))
        app._params["history"] = {"size": "7"}
        await pilot.press("enter")
        await until(pilot, lambda: "600 it" in text(app))
        await pilot.press("1")
        await until(pilot, lambda: "faster" in text(app))
        assert not app._measured
