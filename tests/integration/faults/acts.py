"""What can be done to a run: the verbs of the table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from terminal import Terminal

from .driver import Act, Running


def to_script(*numbers: int) -> Act:
    return lambda run: [os.kill(run.script, number) for number in numbers]


def to_watcher(*numbers: int) -> Act:
    return lambda run: [os.kill(run.process.pid, number) for number in numbers]


def to_keeper(*numbers: int) -> Act:
    return lambda run: [os.kill(run.keeper, number) for number in numbers]


def and_ends(act: Act) -> Act:
    """Wait until the script has ended of it: the signal takes a detour, and `go` must not overtake it."""

    def both(run: Running) -> None:
        act(run)
        run.wait_until(run.script_is_gone)

    return both


def end_watcher(number: int) -> Act:
    """The script goes on only after the watcher has gone."""

    def act(run: Running) -> None:
        os.kill(run.process.pid, number)
        run.watcher_ends()

    return act


def pause(who: Act, resume: Act) -> Act:
    """For so long that a few of the agent's batches fall into it."""

    def act(run: Running) -> None:
        who(run)
        time.sleep(0.3)
        resume(run)

    return act


def hang_up(run: Running) -> None:
    assert run.terminal is not None
    run.terminal.hang_up()
    run.watcher_ends()


def stop_with_keys(run: Running) -> None:
    """Quit, and stop the script."""
    assert run.terminal is not None
    run.terminal.press("q")
    run.terminal.wait_for("leave it running")
    run.terminal.press("s")


def leave_with_keys(run: Running) -> None:
    """Quit, and leave the script running."""
    assert run.terminal is not None
    run.terminal.press("q")
    run.terminal.wait_for("leave it running")
    run.terminal.press("d")
    run.watcher_ends()
    run.terminal.read(0.2)
    assert "--reattach" in run.terminal.text


def resize_storm(run: Running) -> None:
    """As somebody does who drags a corner of the window."""
    assert run.terminal is not None
    for number in range(300):
        run.terminal.resize(60 + number % 80, 16 + number % 40)
        if number % 10 == 0:
            run.terminal.read(0.01)
    run.terminal.resize(100, 30)


def then(*acts: Act) -> Act:
    return lambda run: [act(run) for act in acts]


def take_up(run: Running) -> None:
    """Another app takes the place of the one that has gone."""
    if run.terminal is not None:
        run.terminal.close()
    _open_app(run, "--reattach", str(run.script))


def reattach(run: Running) -> None:
    """Told the end of a script that has ended unwatched."""
    run.left_running()
    take_up(run)
    run.finish(patient=True)


def next_start(run: Running) -> None:
    """What a killed watcher could not take away, the next one of its kind does."""
    run.left_running()
    (run.place / "pid").unlink()
    (run.work / "next.py").write_text("")
    if run.terminal is not None:
        run.terminal.close()
        _open_app(run, "--attach", str(run.work / "next.py"))
        run.finish(patient=True)
    else:
        command = [sys.executable, "-m", "tfslowtop", "--headless", "--attach", "next.py"]
        subprocess.run(command, cwd=run.work, env=run.environment(), capture_output=True, check=True)


def _open_app(run: Running, *arguments: str) -> None:
    run.terminal = Terminal([sys.executable, "-m", "tfslowtop", *arguments], 80, 24, env=run.environment())
    run.process = run.terminal.process


KILL, TERM, INT, HUP = signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP
QUIT, USR1, STOP, CONT = signal.SIGQUIT, signal.SIGUSR1, signal.SIGSTOP, signal.SIGCONT
