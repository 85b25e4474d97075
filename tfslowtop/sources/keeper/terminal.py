"""Starts a program as an interactive shell starts a job: in a terminal of its own, in the foreground."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Mapping, Sequence


def resize(master: int, rows: int, columns: int) -> None:
    """Resize the terminal; the kernel notifies the program (SIGWINCH)."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def open_terminal(rows: int, columns: int) -> tuple[int, int]:
    """Give a terminal to the caller, which must lead a session without one; return master and slave."""
    master, slave = os.openpty()
    settings = termios.tcgetattr(slave)
    settings[0] |= getattr(termios, "IUTF8", 0o40000)  # a backspace erases a whole character
    termios.tcsetattr(slave, termios.TCSANOW, settings)
    resize(master, rows, columns)
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    return master, slave


def spawn(
    argv: Sequence[str],
    environment: Mapping[str, str],
    cwd: str,
    slave: int,
    *,
    stdin: int | None = None,
    ignored: Sequence[int] = (),
) -> int:
    """Start the job and return its pid. The caller stays the session's leader, as a shell does.

    If the script led the session, its end would hang up on children that it leaves running. `ignored` are the
    signals that the user's own shell had set to be ignored (nohup).
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setpgid(0, 0)
        signal.signal(
            signal.SIGTTOU, signal.SIG_IGN
        )  # taking the foreground is not allowed from the background
        os.tcsetpgrp(slave, os.getpid())
        for descriptor, source in ((0, slave if stdin is None else stdin), (1, slave), (2, slave)):
            os.dup2(source, descriptor)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(cwd)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execve(argv[0], list(argv), dict(environment))
    except BaseException as error:
        os.write(2, f"tfslowtop: {argv[0]} could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def take_back_foreground(master: int) -> None:
    """Take the foreground when the job is over: what it left running is in the background and gets no
    hang-up."""
    try:
        os.tcsetpgrp(master, os.getpgrp())
    except OSError:
        pass
