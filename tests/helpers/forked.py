"""Run programs, each in a fork of one process that has imported TensorFlow.

    python forked.py DIRECTORY       # runs what DIRECTORY/programs.json lists: {name: argv}

Importing TensorFlow costs more CPU time than most test programs. A fork of a process that has imported it
but not used it starts like a fresh process. All programs run at the same time. The streams of each go to
NAME.out and NAME.err; codes.json gets the exit codes.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    directory = Path(sys.argv[1])
    programs: dict[str, list[str]] = json.loads((directory / "programs.json").read_text())
    import tensorflow  # noqa: F401

    running: dict[int, str] = {}
    for name, argv in programs.items():
        pid = os.fork()
        if pid == 0:
            for number, suffix in ((1, "out"), (2, "err")):
                os.dup2(os.open(directory / f"{name}.{suffix}", os.O_WRONLY | os.O_CREAT), number)
            sys.argv, sys.path[0] = argv, str(Path(argv[0]).parent)
            runpy.run_path(argv[0], run_name="__main__")
            return
        running[pid] = name
    codes = {}
    while running:
        pid, status = os.wait()
        codes[running.pop(pid)] = os.waitstatus_to_exitcode(status)
    (directory / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main()
