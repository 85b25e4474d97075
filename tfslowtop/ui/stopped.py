"""What may happen to an app in its terminal: it is stopped (SIGSTOP) or told to go, or the terminal goes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
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


def leave_when_told(app: App[Any]) -> None:
    """As after `q`, so that the terminal is given back as it was and no directory of ours stays behind."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup's SIGHUP stays ignored
            asyncio.get_running_loop().add_signal_handler(number, app.exit, None, 128 + number)


def terminal_is_there() -> bool:
    try:
        os.ttyname(sys.__stdin__.fileno() if sys.__stdin__ else 0)
    except OSError:
        return False
    return True
