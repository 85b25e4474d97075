"""The screens of an attached script, on what the agent said of real ones."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest
import ui_script
import ui_source
from screens import text, until
from textual.widget import Widget
from textual.widgets import Input
from ui_script import Recorded
from ui_source import Script

from tfslowtop.agent.protocol.events import ChooseStep, Output
from tfslowtop.diagnosis.finding import Finding
from tfslowtop.diagnosis.rewriting.statement import Change
from tfslowtop.export import findings
from tfslowtop.run import Run
from tfslowtop.state.session import Session
from tfslowtop.state.view import View
from tfslowtop.ui.run_status import scenario_status, script_status, status_line
from tfslowtop.ui.scenario_app import ScenarioApp
from tfslowtop.ui.screens.detail import DetailScreen
from tfslowtop.ui.screens.finding import FindingScreen
from tfslowtop.ui.screens.help import action_name
from tfslowtop.ui.screens.output import OutputScreen
from tfslowtop.ui.screens.quit_dialog import QuitDialog
from tfslowtop.ui.screens.scenario import ScenarioScreen
from tfslowtop.ui.screens.script import ScriptScreen
from tfslowtop.ui.script_app import ScriptApp

SECOND = 1_000_000_000
TRACEBACK = (
    'Traceback (most recent call last):\n  File "x.py", line 9, in <module>\nValueError: bad [b]data[/b]\n'
)


def footer(app) -> str:
    return text(app).splitlines()[-1]


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_findings_open_and_streams_become_the_step(monkeypatch, size):
    source = Recorded("linear_schedule")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "lr is a Python value" in " ".join(text(app).split()))
        await until(pilot, lambda: footer(app).startswith("enter Details d Findings"))
        assert app.focused is app.screen.card
        streams = app.screen.table.list
        streams.focus()
        await until(pilot, lambda: footer(app).startswith("enter Detail S Step d Findings"))
        streams.highlighted = next(n for n, o in enumerate(streams.options) if not app_step(app, o.id))
        wanted = int(streams.options[streams.highlighted].id)
        await pilot.press("S")
        assert source.sent == [ChooseStep(wanted)]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DetailScreen) and "latency of" in text(app))
        await pilot.press("escape", "d")
        await until(pilot, lambda: "enter Details" in footer(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FindingScreen) and "Python value" in text(app))


def app_step(app, id: str) -> bool:
    return any(s.is_step and str(s.id) == id for s in app._view.streams)


async def test_what_cannot_be_done_is_not_offered(monkeypatch):
    source = Recorded("linear_schedule")
    app = ui_script.app(monkeypatch, source, readonly=True)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "retrace-python-value" in text(app))
        await until(pilot, lambda: "d Findings" in footer(app))
        assert "S Step" not in footer(app)
        streams = app.screen.table.list
        streams.focus()
        streams.highlighted = next(n for n, o in enumerate(streams.options) if not app_step(app, o.id))
        await pilot.press("S", "enter")
        await until(pilot, lambda: "Read-only" in text(app))
        assert source.sent == [] and app.screen is app._main
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, OutputScreen))
        await until(pilot, lambda: "esc Back" in footer(app))
        assert "Type" not in footer(app)


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_a_crash_shows_what_it_was(monkeypatch, size):
    source = Recorded("custom_loop")  # on which nothing is wrong
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "calls" in text(app) and app._view is not None and app._view.streams)
        assert not app.check_action("restart", ())
        source.end(1, "The script ended with exit code 1.", TRACEBACK)
        await until(pilot, lambda: "ValueError: bad [b]data[/b]" in text(app))
        assert (
            "exit code 1" in text(app) and "o to see the traceback" in text(app) and "at x.py:9" in text(app)
        )
        assert "Healthy" not in text(app) and app.screen.card.has_class("-crashed")
        assert app.check_action("restart", ())
        await until(pilot, lambda: "r Restart" in footer(app) or size[0] < 80)
        await pilot.press("q")
        await pilot.pause()
    assert app.script_code == 1


async def test_the_last_second_is_not_left_out(monkeypatch):
    source = Recorded()
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Steps are found once TensorFlow is imported" in text(app))
        assert "? unclear" not in text(app), "nothing was measured, so there is no verdict"
        await until(pilot, lambda: "q Quit" in footer(app))
        assert "d Findings" not in footer(app) and "S Step" not in footer(app), "there are none"
        source.end()
        await until(pilot, lambda: "The script ended, exit code 0" in text(app))
        await until(pilot, lambda: "without TensorFlow so far" not in text(app))


def test_words_for_a_script_that_does_other_things():
    view = replace(View.empty(), process_state="sleeping")
    assert script_status(view, 0) == "running, without TensorFlow so far"
    view = replace(view, phase="running", iterations=60, last_step_at=SECOND)
    assert script_status(view, 4 * SECOND) == "60 it · no step for 3 s"
    assert scenario_status(view, 4 * SECOND) == "iteration 60 has been running for 3 s"


def test_the_status_line_mentions_lost_samples_only_if_there_are_any():
    view = View.empty()
    assert status_line(view, 3.0, 80) == "tfslowtop 3 % CPU"
    assert "1,200 folded · 2 dropped" in status_line(replace(view, folded=1200, lost=2), 3.0, 80)


def test_the_apps_stand_side_by_side():
    """An action of one app must not be one of the other, hidden."""
    assert not issubclass(ScriptApp, ScenarioApp) and not issubclass(ScriptScreen, ScenarioScreen)
    for app in (ScenarioApp, ScriptApp):
        for binding in app.BINDINGS:
            assert hasattr(app, f"action_{action_name(binding.action)}"), binding
    for action in ("compare", "search", "code", "parameters", "leave"):
        assert not hasattr(ScriptApp, f"action_{action}")


@pytest.mark.parametrize("kind", ["scenario", "script"])
async def test_every_widget_that_a_main_screen_builds_is_mounted(kind, tmp_path, monkeypatch):
    script = Script()
    ui_source.freeze(monkeypatch, script)
    if kind == "scenario":
        app = ui_source.app(tmp_path, script)
    else:
        app = ui_script.app(monkeypatch, Recorded("linear_schedule"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app._view is not None)
        built = [value for value in vars(app._main).values() if isinstance(value, Widget)]
        assert len(built) > 4 and all(
            widget.is_attached for widget in built if widget is not app._main.parent
        )


async def test_the_change_is_made_once_and_not_by_the_thread_that_draws(monkeypatch):
    made_by: list[str] = []

    def find_change(f: Finding) -> Change | None:
        made_by.append(threading.current_thread().name)
        return findings.find_change(f)

    monkeypatch.setattr("tfslowtop.ui.finding_code.find_change", find_change)
    source = Recorded("linear_schedule")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "retrace-python-value" in text(app))
        for _ in range(2):
            await pilot.press("d", "enter")
            await until(
                pilot, lambda: isinstance(app.screen, FindingScreen) and "has an example" in text(app)
            )
            seen = app._view
            await until(pilot, lambda seen=seen: app._view is not seen)
            await pilot.press("escape")
    assert len(made_by) == 1 and made_by[0] != threading.main_thread().name


async def test_only_the_pump_touches_its_session(monkeypatch):
    def session(run: Run) -> Session:
        assert threading.current_thread() is not threading.main_thread(), "this is the screen's thread"
        return run.__dict__["session"]

    def keep(run: Run, session: Session) -> None:
        run.__dict__["session"] = session

    monkeypatch.setattr(Run, "session", property(session, keep), raising=False)
    app = ui_script.app(monkeypatch, Recorded("linear_schedule"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "retrace-python-value" in text(app))
        for key in ("m", "escape", "o", "escape", "d", "enter", "escape", "F"):
            await pilot.press(key)
            await pilot.pause(0.1)


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_leaving_asks_and_ctrl_c_is_the_same(monkeypatch, size):
    source = Recorded("custom_loop", "a_script_with_a_name_that_is_quite_long.py")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app._view is not None)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: isinstance(app.screen, QuitDialog))
        said = ("still", "running.", "stop it,", "leave it running", "--reattach", "stay here")
        await until(pilot, lambda: all(words in text(app) for words in said))
        await pilot.press("escape")
        assert app.screen is app._main and not source.stopped
        await pilot.press("q", "s")
        await until(pilot, lambda: not app.is_running)
    assert source.stopped and app.script_code == 130


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_quitting_twice_stops_the_script(monkeypatch, key):
    source = Recorded("custom_loop")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app._view is not None)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, QuitDialog))
        assert not source.stopped
        await pilot.press(key)
        await until(pilot, lambda: not app.is_running)
    assert source.stopped and app.script_code == 130


async def test_leaving_keeps_what_the_screen_showed(monkeypatch):
    source = Recorded("linear_schedule")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "retrace-python-value" in text(app))
        source.end(1, "The script ended with exit code 1.", "one line\n" + TRACEBACK)
        await until(pilot, lambda: app.ended is not None)
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)
    while app._pumped:
        await asyncio.sleep(0.02)
    report = app.exit_report.splitlines()
    assert report[:2] == ["The last output of linear_schedule.py:", "  Traceback (most recent call last):"]
    assert "tfslowtop: linear_schedule.py: The script ended with exit code 1" in app.exit_report
    assert "  1  retrace-python-value" in app.exit_report


async def test_leaving_a_script_that_keeps_running_tells_what_was_seen(monkeypatch):
    source = Recorded("linear_schedule")
    source.put(Output("".join(f"line {n}\n" for n in range(30))))
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "retrace-python-value" in text(app))
        await pilot.press("q", "d")
        await until(pilot, lambda: not app.is_running)
    while app._pumped:
        await asyncio.sleep(0.02)
    assert app.farewell == "it runs on" and "  1  retrace-python-value" in app.exit_report
    assert "  line 29" in app.exit_report and "  line 19" not in app.exit_report


async def test_a_script_that_ends_behind_the_quit_dialog_does_not_hold_the_app(monkeypatch):
    source = Recorded("custom_loop")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app._view is not None)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, QuitDialog))
        source.end()
        await until(pilot, lambda: app.ended is not None)
        await pilot.press("s")
        await until(pilot, lambda: not app.is_running)
    assert app.script_code == 0


async def test_a_script_that_asks_is_answered(monkeypatch):
    source = Recorded()
    source.put(Output("your name? "))
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app._view is not None)
        await pilot.press("o", "t")
        await until(pilot, lambda: isinstance(app.screen.focused, Input))
        await until(pilot, lambda: "enter Send" in footer(app))
        await pilot.press("q", "u", "o", "enter")
        assert source.typed == "quo\n", "keys of the app are letters here"
        await pilot.press("escape")
        assert isinstance(app.screen, OutputScreen) and not app.screen.query_one(Input).display
        source.end()
        await until(pilot, lambda: "t Type" not in footer(app))


async def test_more_output_than_is_kept_is_told(monkeypatch):
    source = Recorded()
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app._view is not None)
        await pilot.press("o")
        await until(pilot, lambda: "no output yet" in text(app))
        source.put(Output("x" * 100 + "\n" + "y" * 300_000))
        await until(pilot, lambda: "older output is not kept" in text(app))


async def test_names_of_wide_characters_fit(monkeypatch):
    source = Recorded("custom_loop", "日本語の名前を持つとても長いスクリプト.py")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(60, 16)) as pilot:
        await until(pilot, lambda: "it/s" in text(app).splitlines()[0])
        await pilot.press("F")
        await until(pilot, lambda: "it/s" in text(app).splitlines()[0] and "日本語" in text(app))


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_in_ascii_the_columns_of_the_streams_stand_under_their_heads(monkeypatch, size):
    source = Recorded("cartpole_scores")
    app = ui_script.app(monkeypatch, source, ascii=True)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "> top level" in text(app) and "predict" in text(app))
        rows = text(app).splitlines()
        head = next(n for n, row in enumerate(rows) if " median " in row and " calls " in row)
        end = rows[head].index("calls") + len("calls")
        for row in rows[head + 1 : head + 4]:
            assert row[end - 1].isdigit() and row[end] == " ", "\n".join(rows)


async def test_the_help_of_a_script_speaks_of_a_script(monkeypatch):
    app = ui_script.app(monkeypatch, Recorded("cartpole_scores"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "predict-loop" in text(app))
        await pilot.press("question_mark")
        await until(pilot, lambda: "the step: its time" in text(app))
        assert "fix" not in text(app) and "scenario" not in text(app), text(app)
