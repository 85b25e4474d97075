"""What may happen to an app in its terminal: it is stopped (SIGSTOP) or told to go, or the terminal goes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from textual.app import App

#: Seconds for the event loop to begin closing the app after it was told to go.
_PATIENCE = 2.0

#: Mouse, pasting, focus and the keyboard protocol off, line wrap on, the shell's own screen, its cursor.
_GIVE_BACK = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[<u"
    b"\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
)


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


class Leaving:
    """Ends the app at SIGTERM and SIGHUP, as `q` does: the terminal as it was, no directory of ours left.

    An event loop that does not get around to it for `_PATIENCE` seconds is not waited for.
    """

    def __init__(self, app: App[Any], end_run: Callable[[], None]) -> None:
        """`end_run` is called from a thread; it returns when nothing of the run is left to clean up."""
        self._app, self._end_run = app, end_run
        self._loop = asyncio.get_running_loop()
        self._closing = threading.Event()
        self._told = False
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup's SIGHUP stays ignored
                signal.signal(number, self._hear)

    def closing(self) -> None:
        """The event loop is closing the app, and needs no help."""
        self._closing.set()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._loop.is_closed():  # the app is gone and the terminal given back
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not self._told:
            self._told = True
            threading.Thread(target=self._insist, args=(number,), daemon=True).start()
            self._loop.call_soon_threadsafe(self._app.exit, None, 128 + number)

    def _insist(self, number: int) -> None:
        if self._closing.wait(_PATIENCE):
            return
        try:
            self._end_run()
        finally:
            give_back_terminal(self._app)
            os._exit(128 + number)


def give_back_terminal(app: App[Any]) -> None:
    """What Textual's driver does when it stops, without waiting for any of its threads."""
    driver = app._driver
    settings, terminal = getattr(driver, "attrs_before", None), getattr(driver, "fileno", None)
    if settings is None or terminal is None:
        return  # not in a terminal
    try:
        os.set_blocking(2, False)  # a terminal that nobody reads must not hold us
        os.write(2, _GIVE_BACK)
    except OSError:
        pass
    try:
        os.set_blocking(2, True)  # the shell shares it
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
    except (OSError, termios.error):
        pass


def terminal_is_there() -> bool:
    try:
        os.ttyname(sys.__stdin__.fileno() if sys.__stdin__ else 0)
    except OSError:
        return False
    return True
