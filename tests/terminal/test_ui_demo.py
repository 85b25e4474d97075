"""The tour: a state machine over real views, and in the app."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import ui_source
from screens import text, until
from ui_source import Script

from tfslowtop.agent.protocol.events import Ended, SetFixes
from tfslowtop.catalogue.find import Entry, all_entries
from tfslowtop.state.session import Session
from tfslowtop.state.view import View
from tfslowtop.ui import tour as tours
from tfslowtop.ui.tour import Start, Switch, Tour, scenes


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    return ui_source.entry(tmp_path)


def views(script: Script) -> Iterator[View]:
    """What a session says of a script, as often as it is asked."""
    session = Session()
    while True:
        session.feed(script.events(0))
        yield session.view(script.now, 60, 0.5)


def test_a_scene_from_the_start_to_the_next_one(entry: Entry):
    script = Script(0)
    seen = views(script)
    tour = Tour([entry, entry])
    assert tour.advance(None, 0.0) == Start(entry)
    assert "1/2 the problem: Every step gets slower" in tour.caption
    assert tour.advance(None, 5.0) is None and tour.state == "loading"
    assert tour.advance(next(seen), 6.0) is None and tour.state == "degrade"
    script.play(20)
    assert tour.advance(next(seen), 7.0) is None, "it is shown for a while, however clear it is"
    order = tour.advance(next(seen), 15.0)
    assert order == Switch(("keep_list",)) and "append to a list" in tour.caption
    script.send(SetFixes(("keep_list",)))
    assert tour.advance(next(seen), 16.0) is None and tour.state == "effect"
    assert tour.advance(next(seen), 25.0) is None and tour.state == "show"
    assert "faster" in tour.caption
    assert tour.advance(next(seen), 40.0) is None and tour.state == "start"
    assert tour.advance(None, 40.1) == Start(entry) and "2/2" in tour.caption


def test_what_does_not_come_is_not_waited_for(entry: Entry):
    tour = Tour([entry])
    tour.advance(None, 0.0)
    tour.advance(None, tours.LOADING + 1)
    assert tour.state == "start"
    tour.advance(None, 100.0)
    view = next(views(Script(0)))
    tour.advance(view, 101.0)
    assert tour.advance(view, 102.0 + tours.DEGRADE_MOST) == Switch(("keep_list",)), "nothing rises here"
    tour.advance(view, 110.0 + tours.DEGRADE_MOST + tours.EFFECT_MOST)
    assert tour.state == "show" and "no effect was measured" in tour.caption


def test_of_a_leak_the_memory_is_told(entry: Entry):
    assert entry.scenario is not None
    leak = replace(entry, scenario=replace(entry.scenario, kind="leaks"))
    script = Script(0)
    seen = views(script)
    tour = Tour([leak])
    tour.advance(None, 0.0)
    tour.advance(next(seen), 1.0)
    script.play(20)
    assert tour.advance(next(seen), 10.0) == Switch(("keep_list",))
    script.send(SetFixes(("keep_list",)))
    script.play(20)
    tour.advance(next(seen), 20.0)
    assert "the effect: memory +50.0 kB/it leak → flat" in tour.caption, "not what latency does"


def test_what_was_measured_is_measured_on_while_it_is_shown(entry: Entry):
    script = Script()
    seen = views(script)
    tour = Tour([entry])
    tour.advance(None, 0.0)
    tour.advance(next(seen), 1.0)
    tour.advance(next(seen), 10.0)
    script.send(SetFixes(("keep_list",)))
    tour.advance(next(seen), 20.0)
    first = tour.caption
    script.play(30)
    tour.advance(next(seen), 22.0)
    assert tour.state == "show" and "the effect" in tour.caption and tour.caption != first


def test_a_scenario_that_ends_is_left(entry: Entry):
    tour = Tour([entry])
    tour.advance(None, 0.0)
    view = replace(next(views(Script())), ended=Ended(1, "It failed.", 0))
    tour.advance(view, 1.0)
    assert tour.state == "start" and "ended" in tour.caption


def test_scenes():
    entries = all_entries()
    usual = scenes(entries, ())
    assert [scene.id for scene in usual] == list(tours.DEFAULT)
    assert [scene.id for scene in scenes(entries, ["append_history", "nonsense"])] == ["append_history"]
    assert scenes([], ()) == []


async def test_the_app_plays_it_and_a_key_takes_over(tmp_path, monkeypatch):
    for name in ("DEGRADE_LEAST", "EFFECT_LEAST"):
        monkeypatch.setattr(tours, name, 0.3)
    script = Script()
    ui_source.freeze(monkeypatch, script)
    app = ui_source.app(tmp_path, script, demo=())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "the effect: ×7" in text(app))
        assert "any key to take over" in text(app)
        await pilot.press("c")
        await pilot.pause()
        assert "any key to take over" not in text(app)
        assert app.screen is app._main, "the first key does nothing else"
        assert script.sent == [SetFixes(("keep_list",))] and not script.stopped
        await pilot.press("0")
        assert script.sent[-1] == SetFixes(())


async def test_on_a_shared_screen_nobody_takes_over(tmp_path, monkeypatch):
    script = Script()
    ui_source.freeze(monkeypatch, script)
    app = ui_source.app(tmp_path, script, demo=(), readonly=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "READ-ONLY" in text(app) and "1/1 why" in text(app))
        await pilot.press("0", "space", "space")
        await pilot.pause()
        assert "1/1" in text(app) and "take over" not in text(app)
