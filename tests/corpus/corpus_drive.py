"""Run scripts, each watched by an agent of its own, and save what each agent reported.

    python corpus_drive.py OUT script.py ... [-- script.py ...]      # OUT/script.jsonl.gz, a recording each

One import of TensorFlow serves all scripts that use it. Each group, separated by `--`, runs in a fork of
a process that has imported TensorFlow but not used it, so it starts like a fresh process. Within a group the
scripts run one after the other, and `tidy` removes what a fresh process would not have: the default graph,
Keras' names and garbage.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import time
from pathlib import Path

from recording import SUFFIX, save

from tfslowtop.sources.recording import Record

PAGE = os.sysconf("SC_PAGE_SIZE")


def watch(script: Path) -> tuple[list[Record], str]:
    from tfslowtop.agent.attachment import start
    from tfslowtop.agent.protocol.channel import MemoryChannel
    from tfslowtop.agent.protocol.events import Event, Gauge, Phase

    came: list[Record] = []

    sensed = 0

    class Recorder(MemoryChannel):
        def send(self, event: Event) -> bool:
            """Keep the event, and what sensors would read from outside of the process.

            A thread of ours that did so would count as one of the program's own.
            """
            nonlocal sensed
            now = time.perf_counter_ns()
            if self.alive:
                came.append(Record(now, event))
                if now - sensed >= 100_000_000:
                    sensed = now
                    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
                    came.append(Record(now, Gauge("rss", now, float(resident))))
            return self.alive

    channel = Recorder()
    channel.send(Phase("starting", "", time.perf_counter_ns()))
    attachment = start(channel, step=None, script=str(script))
    sys.argv = [str(script)]
    sys.path[0] = str(script.parent)
    error = ""
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        error = f"exit code {end.code}" if end.code else ""
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    attachment.remove()
    return came, error


def uses_tensorflow(group: list[Path]) -> bool:
    """Whether a script of the group does; the others are watched in a process without it."""
    return any("tensorflow" in script.read_text() for script in group)


def tidy() -> None:
    tf = sys.modules.get("tensorflow")
    if tf is None:
        return
    tf.config.run_functions_eagerly(False)
    tf.compat.v1.reset_default_graph()
    tf.keras.backend.clear_session()
    gc.collect()


def run_group(out: Path, scripts: list[Path]) -> None:
    for script in scripts:
        began = time.perf_counter()
        records, error = watch(script)
        save(out / f"{script.stem}{SUFFIX}", records, error)
        print(f"{script.name}: {time.perf_counter() - began:.1f} s {error}", file=sys.stderr, flush=True)
        tidy()


def main() -> None:
    out = Path(sys.argv[1])
    groups: list[list[Path]] = [[]]
    for name in sys.argv[2:]:
        if name == "--":
            groups.append([])
        else:
            groups[-1].append(Path(name))
    for group in sorted(groups, key=uses_tensorflow):
        if uses_tensorflow(group):
            import tensorflow  # noqa: F401
        if os.fork() == 0:
            run_group(out, group)
            return
        _, status = os.wait()
        if status:
            sys.exit(f"{[script.name for script in group]} ended with status {status}")


if __name__ == "__main__":
    main()
