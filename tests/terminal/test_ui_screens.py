"""Every screen and every key, with a scripted run."""

from __future__ import annotations

import pytest
from screens import SIZES, open_detail, text, until
from textual.widgets import Input, Static

from tfslowtop.agent.protocol.events import Compare, Output, SetFixes, SetParams
from tfslowtop.ui.scenario_app import ScenarioApp
from tfslowtop.ui.screens.code import CodeScreen
from tfslowtop.ui.screens.focus import FocusScreen
from tfslowtop.ui.screens.help import HelpScreen
from tfslowtop.ui.screens.main import MainScreen
from tfslowtop.ui.screens.output import OutputScreen
from tfslowtop.ui.screens.params import ParamsScreen


@pytest.mark.parametrize("size", SIZES)
async def test_detail_shows_the_chart_and_the_rest_below(play, size):
    async def act(pilot, app, script):
        await pilot.press("1")
        await until(pilot, lambda: "[x]" in text(app))
        await open_detail(pilot, app)
        await until(pilot, lambda: "Distribution" in text(app))
        assert "+1" in text(app) and "now" in text(app)
        for part in ("Effect of each toggle", "+1 at iteration 600", "step #6"):
            app.screen.query_one("#detail-page").scroll_home(animate=False)
            for _ in range(40):
                if part in text(app):
                    break
                await pilot.press("j")
                await pilot.pause()
            assert part in text(app), text(app)
        await pilot.press("escape")
        assert isinstance(app.screen, MainScreen)

    await play(act, size)


async def test_detail_of_memory_has_slopes_and_of_a_count_no_distribution(play):
    async def act(pilot, app, script):
        await pilot.press("1")
        await until(pilot, lambda: "[x]" in text(app))
        await open_detail(pilot, app, "rss")
        await until(pilot, lambda: "kB/it leak →" in text(app))
        await pilot.press("escape")
        await open_detail(pilot, app, "retraces")
        await until(pilot, lambda: "running count" in text(app))

    await play(act)


async def test_code_shows_slow_and_fixed_and_what_runs(play):
    async def act(pilot, app, script):
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen) and "Claim" in text(app))
        assert app.screen.query_one("#code-page").has_focus
        sides = [side.render().plain for side in app.screen.query(".code").results(Static)]
        assert "-     s[1:] = s[1:] + new" in sides[0] and "+     s.append(new)" in sides[1]
        assert "fixes." not in sides[0] + sides[1]
        await pilot.press("2")
        await until(pilot, lambda: "as it runs now, with fix 2" in all_of(app))
        await pilot.press("f")
        await until(pilot, lambda: "SCENARIO = Scenario(" in all_of(app))
        await pilot.press("c")
        assert isinstance(app.screen, MainScreen)

    def all_of(app: ScenarioApp) -> str:
        return "\n".join(str(s.render()) for s in app.screen.query(Static) if s.display)

    await play(act, SIZES[-1])


@pytest.mark.parametrize("size", SIZES)
async def test_focus_keeps_the_keys_and_turns_to_other_panels(play, size):
    async def act(pilot, app, script):
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FocusScreen) and "rising" in text(app))
        await pilot.press("1")
        await until(pilot, lambda: "faster" in text(app) and "[x]" in text(app))
        assert SetFixes(("keep_list",)) in script.sent
        await pilot.press("tab")
        await until(pilot, lambda: "memory since start" in text(app))  # the order of the main screen
        await pilot.press("tab")
        await until(pilot, lambda: "retraces" in text(app))
        await pilot.press("shift+tab", "F")
        assert isinstance(app.screen, MainScreen)

    await play(act, size)


async def test_help_names_the_keys_that_work(play):
    async def act(pilot, app, script):
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        keys = str(app.screen.query_one("#help-keys", Static).render())
        for said in ("1-9", "Switch a fix", "space", "Fixes", "The run", "Zoom in"):
            assert said in keys
        assert "rising" in str(app.screen.query_one("#help-reading", Static).render())
        await pilot.press("question_mark")
        assert isinstance(app.screen, MainScreen)

    await play(act, SIZES[-1])


async def test_output_follows_the_end_until_somebody_scrolls(play):
    async def act(pilot, app, script):
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, OutputScreen) and "Epoch 1" in text(app))
        assert "\x1b" not in text(app)
        script.put(Output("".join(f"line {n}\n" for n in range(200))))
        await until(pilot, lambda: "line 199" in text(app))
        await pilot.press("pageup")
        await until(pilot, lambda: "line 199" not in text(app))
        script.put(Output("the last one\n"))
        await until(pilot, lambda: app._view.output.endswith("the last one\n"))
        await pilot.pause(0.3)
        assert "the last one" not in text(app)
        await pilot.press("end")
        await until(pilot, lambda: "the last one" in text(app))
        await pilot.press("o")
        assert isinstance(app.screen, MainScreen)

    await play(act)


async def test_parameters_are_checked_and_sent(play):
    async def act(pilot, app, script):
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ParamsScreen))
        app.screen.query_one("#param-size", Input).value = "many"
        await pilot.press("enter")
        await until(pilot, lambda: "size=many: size takes a whole number." in text(app))
        app.screen.query_one("#param-size", Input).value = " 7 "
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert script.sent[-1] == SetParams(("size=7", "dtype=float32"))
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ParamsScreen))
        assert app.screen.query_one("#param-size", Input).value == "7"
        await pilot.press("escape")
        assert isinstance(app.screen, MainScreen) and len(script.sent) == 1

    await play(act)


async def test_readonly_neither_does_nor_offers_what_changes_the_run(play):
    async def act(pilot, app, script):
        assert "1-9" not in text(app) and "Restart" not in text(app)
        await pilot.press("1", "0", "x", "r", "p", "enter")
        await pilot.pause(0.2)
        assert isinstance(app.screen, MainScreen)
        assert script.sent == [] and not script.stopped
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert not any(title.startswith("Fix") for title in titles)

    await play(act, readonly=True)


async def test_the_palette_has_every_action(play):
    async def act(pilot, app, script):
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Theme", "Fix 1: append to a list", "Fix 2: keep every second step"} <= titles
        assert {
            "Pause",
            "Restart",
            "All off",
            "A/B",
            "Baseline",
            "Code",
            "Focus",
            "Output",
            "Params",
        } <= titles
        assert {"Help", "Quit", "Zoom in", "Zoom out", "List"} <= titles
        command = next(c for c in app.get_system_commands(app.screen) if c.title == "A/B")
        await command.callback()
        assert isinstance(script.sent[-1], Compare)

    await play(act)


async def test_the_palette_lists_no_command_twice(play):
    async def act(pilot, app, script):
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert len(titles) == len(set(titles)), titles

    await play(act)


async def test_where_nothing_can_be_seen_keys_do_nothing(play):
    async def act(pilot, app, script):
        app.screen.query_one("#fixes").focus()
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: "60x16" in text(app))
        await pilot.press("1", "enter", "x", "r", "p", "space", "F", "slash", "ctrl+p")
        await pilot.pause(0.2)
        assert script.sent == [] and not script.stopped and not app._paused
        assert isinstance(app.screen, MainScreen) and not app.screen.has_class("-listing")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "1-9 Fix" in text(app))
        await pilot.press("1")
        await until(pilot, lambda: script.sent == [SetFixes(("keep_list",))])
        await pilot.resize_terminal(40, 10)
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)

    await play(act)


async def test_where_nothing_can_be_seen_a_screen_only_closes(play):
    async def act(pilot, app, script):
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FocusScreen))
        await pilot.resize_terminal(40, 10)
        await pilot.press("1", "tab", "space")
        assert script.sent == [] and app.screen.quantity == "latency" and not app._paused
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))

    await play(act)


async def test_every_screen_under_every_kind_of_theme(play):
    async def act(pilot, app, script):
        for theme in ("textual-dark", "textual-light", "ansi-dark", "ansi-light"):
            app.theme = theme
            for key in ("c", "F", "o", "question_mark"):
                await pilot.press(key)
                await pilot.pause()
                await pilot.press("escape")
            await open_detail(pilot, app)
            await until(pilot, lambda: "Distribution" in text(app))
            await pilot.press("escape")
            await pilot.pause()

    await play(act)


async def test_resizing_never_breaks_a_screen(play):
    async def act(pilot, app, script):
        for key in ("c", "F", "o", "question_mark"):
            await pilot.press(key)
            for size in ((60, 16), (40, 10), (200, 50), (20, 5), (80, 24)):
                await pilot.resize_terminal(*size)
                await pilot.pause(0.1)
                if size == (40, 10):
                    await until(pilot, lambda: "60x16" in text(app))
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, MainScreen))

    await play(act)


async def test_a_failure_while_a_screen_is_open(play):
    async def act(pilot, app, script):
        await pilot.press("F")
        script.fail()
        await until(pilot, lambda: "failed" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "ValueError" in text(app))

    await play(act)


async def test_a_key_for_a_fix_that_is_not_there_says_so(play):
    async def act(pilot, app, script):
        await pilot.press("1", "F", "o", "escape", "m", "escape")
        assert not app._notifications, "all of these did something"
        await pilot.press("5", "5")
        await until(pilot, lambda: "This scenario has only 2 fixes." in text(app))
        assert len(app._notifications) == 1 and len(script.sent) == 1

    await play(act, notices=True)
