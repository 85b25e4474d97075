"""What an app does that was stopped by somebody else (SIGSTOP) and goes on."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

from textual.app import App


def mind_being_stopped(app: App[Any]) -> None:
    """After SIGSTOP the terminal is still ours; only after Ctrl-Z it has to be taken up again.

    Textual takes it up after both, which after SIGSTOP leaves a second reader of the keys that never ends.
    """
    driver = app._driver
    take_up = signal.getsignal(signal.SIGCONT)
    if not hasattr(driver, "_must_signal_resume") or not callable(take_up):
        return  # not in a terminal, or another Textual

    def go_on(number: int, frame: FrameType | None) -> None:
        if getattr(driver, "_must_signal_resume", True):
            take_up(number, frame)
        else:
            app.call_later(app.refresh)

    signal.signal(signal.SIGCONT, go_on)
