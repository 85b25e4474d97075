"""Runs scripts with the agent in them, each in a fork of one process that has imported TensorFlow.

    python fork_server.py      # a line of JSON starts a script: {"argv": ..., "environment": ..., "cwd": ...}

It answers with the script's process id, and with its exit code when it has ended; one script runs at a time.
The fork connects to the watcher as a process does that is about to import TensorFlow.
"""

from __future__ import annotations

import json
import os
import runpy
import sys


def become(argv: list[str], environment: dict[str, str], cwd: str) -> None:
    """Turn this process into one that runs the script, watched."""
    from tfslowtop.agent.boot.connection import begin

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    script = argv[0]
    sys.argv, sys.path[0] = argv, os.path.dirname(script)  # noqa: PTH120
    sys.modules["__main__"].__file__ = script
    begin(environment["TFSLOWTOP_ATTACH_SOCKET"], environment["TFSLOWTOP_ATTACH_TOKEN"], None)
    runpy.run_path(script, run_name="__main__")


def main() -> None:
    import tensorflow  # noqa: F401

    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if pid == 0:
            become(**json.loads(line))
            return
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
