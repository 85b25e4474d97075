"""Signals and lost terminals: SIGCONT after SIGSTOP, SIGTERM and SIGHUP, a terminal that goes away."""

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

#: Seconds for the event loop to begin closing the app after a signal. A busy loop needs a few hundred
#: milliseconds; one that needs more hangs.
_PATIENCE = 2.0

#: Mouse, paste, focus and keyboard protocol off, line wrap on, the shell's own screen, its cursor.
_RESTORE = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[<u"
    b"\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
)


def handle_sigcont(app: App[Any]) -> None:
    """Redraw after SIGSTOP instead of setting up the terminal again, which only Ctrl-Z requires.

    Textual does the latter after both, which after SIGSTOP leaves a second thread reading the keys for good.
    """
    driver = app._driver
    set_up_again = signal.getsignal(signal.SIGCONT)
    if not hasattr(driver, "_must_signal_resume") or not callable(set_up_again):
        return  # not in a terminal, or another Textual

    def resume(number: int, frame: FrameType | None) -> None:
        if getattr(driver, "_must_signal_resume", True):
            set_up_again(number, frame)
        else:
            app.call_later(app.refresh)

    signal.signal(signal.SIGCONT, resume)


class ExitOnSignal:
    """Ends the app on SIGTERM and SIGHUP as `q` does: restores the terminal and leaves no directory behind.

    If the event loop has not begun to close the app after `_PATIENCE` seconds, ends without it.
    """

    def __init__(self, app: App[Any], end_run: Callable[[], None]) -> None:
        """`end_run` is called from a thread and returns once the run has cleaned up."""
        self._app, self._end_run = app, end_run
        self._loop = asyncio.get_running_loop()
        self._closing = threading.Event()
        self._received = False
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup's SIGHUP stays ignored
                signal.signal(number, self._receive)

    def closing(self) -> None:
        """Note that the event loop is closing the app."""
        self._closing.set()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._loop.is_closed():  # the app has gone and the terminal is restored
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not self._received:
            self._received = True
            threading.Thread(target=self._insist, args=(number,), daemon=True).start()
            self._loop.call_soon_threadsafe(self._app.exit, None, 128 + number)

    def _insist(self, number: int) -> None:
        if self._closing.wait(_PATIENCE):
            return
        try:
            self._end_run()
        finally:
            restore_terminal(self._app)
            os._exit(128 + number)


def restore_terminal(app: App[Any]) -> None:
    """Do what Textual's driver does when it stops, without waiting for any of its threads."""
    driver = app._driver
    settings, terminal = getattr(driver, "attrs_before", None), getattr(driver, "fileno", None)
    if settings is None or terminal is None:
        return  # not in a terminal
    try:
        os.set_blocking(2, False)  # a terminal that nobody reads must not block us
        os.write(2, _RESTORE)
    except OSError:
        pass
    try:
        os.set_blocking(2, True)  # the shell shares it
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
    except (OSError, termios.error):
        pass


def has_terminal() -> bool:
    """Return whether standard input is still a terminal that exists."""
    try:
        os.ttyname(sys.__stdin__.fileno() if sys.__stdin__ else 0)
    except OSError:
        return False
    return True
