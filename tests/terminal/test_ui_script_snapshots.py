"""How a script's screen looks, at three sizes: with findings, healthy, crashed and in ASCII."""

from __future__ import annotations

import pytest
import ui_script
from screens import SIZES, text, until
from test_ui_snapshots import settled
from ui_script import Recorded

from tfslowtop.ui.widgets.charts.scale import StickyScale

TRACEBACK = (
    'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\nValueError: bad data\n'
)
#: The recording, the exit code if it has ended, a sign that it is on the screen, and the key to press then.
STATES = {
    "findings": ("dqn_replay", None, "2  predict, evaluate", ""),
    "finding": ("dqn_replay", None, "2  predict, evaluate", "enter"),
    "healthy": ("custom_loop", None, "Healthy", ""),
    "crashed": ("custom_loop", 1, "ValueError", ""),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES)
def test_script(state, size, monkeypatch, snap_compare):
    assert _compare(state, size, monkeypatch, snap_compare)


def test_script_in_ascii(monkeypatch, snap_compare):
    assert _compare("findings", (80, 24), monkeypatch, snap_compare, ascii=True)


_update = StickyScale.update


def _forgetful(scale, peak, now):
    """Scale to this view alone: how many views came before it, and when, differs from run to run."""
    scale._upper = None
    return _update(scale, peak, now)


def _compare(state, size, monkeypatch, snap_compare, **options):
    recording, code, sign, key = STATES[state]
    monkeypatch.setattr("tfslowtop.ui.screens.script._LISTS_EVERY", 0.0)
    monkeypatch.setattr(StickyScale, "update", _forgetful)
    source = Recorded(recording)
    app = ui_script.app(monkeypatch, source, **options)
    app._zoomed = True  # widening takes a few views

    async def before(pilot):
        await until(pilot, lambda: app._view is not None)
        if code is not None:
            source.end(code, f"The script ended with exit code {code}.", TRACEBACK)
            await until(pilot, lambda: sign in text(app))
            await pilot.pause(2.5)  # the app writes everything once more when a run has ended
            return
        # The status line comes after a second.
        await until(pilot, lambda: sign in text(app) and "% CPU" in text(app))
        await settled(pilot)
        if key:
            await pilot.press(key)
            await until(pilot, lambda: "seen since" in text(app))
            await settled(pilot)

    return snap_compare(app, terminal_size=size, run_before=before)
