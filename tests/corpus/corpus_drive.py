"""Run scripts, each watched by an agent of its own, and save what each agent reported.

    python corpus_drive.py OUT script.py ... [-- script.py ...]      # OUT/script.jsonl.gz, a recording each

One import of TensorFlow serves all scripts. Each group, separated by `--`, runs in a fork of a process that
has imported TensorFlow but not used it, so it starts like a fresh process. Within a group the scripts run one
after the other, and `tidy` removes what a fresh process would not have: the default graph, Keras' names and
garbage.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import threading
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

    class Recorder(MemoryChannel):
        def send(self, event: Event) -> bool:
            if self.alive:
                came.append(Record(time.perf_counter_ns(), event))
            return self.alive

    channel = Recorder()
    channel.send(Phase("starting", "", time.perf_counter_ns()))
    attachment = start(channel, step=None, script=str(script))
    done = threading.Event()

    def sense() -> None:
        """What the sensors read from outside of a process that is watched from outside."""
        while not done.wait(0.1):
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
            channel.send(Gauge("rss", time.perf_counter_ns(), float(resident)))

    sensor = threading.Thread(target=sense, daemon=True)
    sensor.start()
    sys.argv = [str(script)]
    error = ""
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        error = f"exit code {end.code}" if end.code else ""
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    done.set()
    sensor.join()
    attachment.remove()
    return came, error


def tidy() -> None:
    import tensorflow as tf

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
    import tensorflow  # noqa: F401

    for group in groups:
        if os.fork() == 0:
            run_group(out, group)
            return
        _, status = os.wait()
        if status:
            sys.exit(f"{[script.name for script in group]} ended with status {status}")


if __name__ == "__main__":
    main()
