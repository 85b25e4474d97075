"""Where the time goes: the bar on a script's screen, and the table behind it."""

from __future__ import annotations

import pytest
import ui_script
from screens import SIZES, text, until
from test_ui_snapshots import settled
from ui_script import Recorded

from tfslowtop.agent.protocol.names import ACTIVITIES, ACTIVITY_OWN, ACTIVITY_TRACE
from tfslowtop.state.account import AccountView
from tfslowtop.state.activities import NAMES
from tfslowtop.ui.screens.account import AccountScreen
from tfslowtop.ui.widgets.script.account_bar import draw_bar, legend


def _no_style(_):
    return ""


@pytest.mark.parametrize("size", SIZES)
async def test_the_bar_is_on_the_main_screen_and_w_opens_the_lines(monkeypatch, size):
    app = ui_script.app(monkeypatch, Recorded("linear_schedule"))
    async with app.run_test(size=size) as pilot:
        sign = "tracing 9" if size[1] >= 24 else "██████████"  # a low screen has no room for the legend
        await until(pilot, lambda: sign in text(app))
        await pilot.press("w")
        await until(
            pilot, lambda: isinstance(app.screen, AccountScreen) and "linear_schedule.py:24" in text(app)
        )
        assert "tracing" in text(app)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, AccountScreen))


async def test_enter_on_the_bar_opens_the_lines(monkeypatch):
    app = ui_script.app(monkeypatch, Recorded("linear_schedule"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "where the time goes" in text(app))
        app.screen.query_one("#account").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, AccountScreen))


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("width", [20, 79, 200])
def test_the_segments_fill_the_width_and_the_legend_adds_up(width, ascii):
    account = AccountView(10.0, 5, ((ACTIVITY_TRACE, 0.913), (ACTIVITY_OWN, 0.08), (ACTIVITIES[-1], 0.007)))
    bar = draw_bar(account, width, _no_style, ascii=ascii).plain
    assert len(bar) == width
    written = legend(account, width, _no_style, ascii=ascii).plain
    assert len(written) <= max(width, 24) and (written.isascii() or not ascii)
    shares = [int(word) for word in written.split() if word.isdigit()]
    assert sum(shares) == pytest.approx(100, abs=2)


def test_every_activity_has_a_name():
    assert set(NAMES) == set(ACTIVITIES)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_lines(size, monkeypatch, snap_compare):
    app = ui_script.app(monkeypatch, Recorded("dqn_replay"))

    async def before(pilot):
        await until(pilot, lambda: app._view is not None and app._view.account.seconds > 0)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, AccountScreen) and "dqn_replay.py" in text(app))
        await settled(pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)
