"""The keeper: a small process that holds a script's terminal, so that the script outlives its watcher.

It is to the script what a terminal multiplexer is: its parent, the reader of its output, and the point where
the watcher and the script's agent meet. A watcher may leave, be killed or lose its SSH connection; the script
does not notice, and another watcher may come. The agent's frames are passed on undecoded; while nobody
watches, the agent is disconnected, so that its hooks are removed.

It uses the standard library only, and starts the script before it imports the rest of itself.
"""

from __future__ import annotations

import marshal
import os
import signal

from .terminal import open_terminal, spawn


def main() -> None:
    """Run the keeper. `kept_script.start_keeper` starts it in its own session; instructions come on standard
    input."""
    # Not JSON: that takes 40 ms to import before the script runs, and both ends are the same Python.
    with open(0, "rb", closefd=False) as instructions:
        config = marshal.load(instructions)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTTOU, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    # Before the script starts, so that its end cannot be missed.
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    master, slave = open_terminal(config["rows"], config["columns"])
    pid = spawn(
        config["argv"],
        config["environment"],
        config["cwd"],
        slave,
        stdin=config["stdin"],
        ignored=config["ignored"],
    )
    os.close(slave)
    os.write(1, str(pid).encode())
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)  # whoever waits for the pid has it now
    os.close(null)
    if config["stdin"] is not None:
        os.close(config["stdin"])

    # SIGTERM is meant for the script, as when its terminal is closed.
    def pass_on(number: int, frame: object) -> None:
        try:
            os.killpg(pid, number)
        except OSError:
            pass  # it has ended meanwhile

    signal.signal(signal.SIGTERM, pass_on)

    from .keeper import Keeper

    Keeper(config, master, pid, wake_read).run()
