"""Runs a script under the watcher and switches its fixes, as the app does."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace, TracebackType

import pytest
from paths import HELPERS, ROOT

from tfslowtop.agent.protocol import events
from tfslowtop.sources import direct_script
from tfslowtop.sources.script import ScriptSource

#: The start of each script: `running()` is true until the test creates the file `stop`.
PRELUDE = """
import os, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

def running():
    time.sleep(0.002)
    return not os.path.exists("stop")
"""


class Forked:
    """What a `Popen` is to a source: a script that runs in a fork of the server."""

    def __init__(
        self, server: subprocess.Popen[str], argv: Sequence[str], env: Mapping[str, str], cwd: str
    ) -> None:
        assert server.stdin and server.stdout
        self._answers = server.stdout
        server.stdin.write(json.dumps({"argv": argv[1:], "environment": dict(env), "cwd": cwd}) + "\n")
        server.stdin.flush()
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._answers], [], [], 0)[0]:
            self.returncode = int(self._answers.readline())
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._answers.readline())
        return self.returncode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


@contextlib.contextmanager
def forking() -> Iterator[None]:
    """Let the scripts of all sources be forks of one process that has imported TensorFlow."""
    server = subprocess.Popen(
        [sys.executable, str(HELPERS / "fork_server.py")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )

    def start(argv: Sequence[str], *, env: Mapping[str, str], cwd: str, **_streams: object) -> Forked:
        return Forked(server, argv, env, cwd)

    with server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct_script, "subprocess", SimpleNamespace(Popen=start))
        yield
        assert server.stdin
        server.stdin.close()


class LiveScript:
    def __init__(self, directory: Path, text: str, patience: float = 120.0) -> None:
        (directory / "script.py").write_text(PRELUDE + text)
        self._directory, self._patience = directory, patience
        self.source = ScriptSource([str(directory / "script.py")], headless=True)
        self.events: list[events.Event] = []

    def __enter__(self) -> LiveScript:
        before = Path.cwd()
        os.chdir(self._directory)
        try:
            self.source.start()
        finally:
            os.chdir(before)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if not self.of(events.Ended):
            self.source.stop()
            self.wait(lambda: self.of(events.Ended))
        self.source.close()

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]

    def wait(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + self._patience
        while not condition():
            assert time.monotonic() < deadline, self.of(events.FixAnswered)
            self.events += self.source.events(0.1)

    def more(self, seconds: float = 1.0) -> None:
        """Let the script run on for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.events += self.source.events(0.1)

    def offer(self, kind: str) -> str:
        """Wait for the offer of a fix, and return its id."""
        ids = lambda: [o.id for o in self.of(events.FixOffered) if o.id.startswith(f"{kind}:")]  # noqa: E731
        self.wait(ids)
        return ids()[0]

    def switch(self, *fixes: str) -> events.FixAnswered:
        """Switch exactly these fixes on, and return the next answer."""
        before = len(self.of(events.FixAnswered))
        self.source.send(events.SetFixes(fixes))
        self.wait(lambda: len(self.of(events.FixAnswered)) > before)
        return self.of(events.FixAnswered)[before]

    def traces(self) -> int:
        return len(self.of(events.Trace))

    def finish(self) -> int:
        """Let the script end by itself, and return its exit code."""
        (self._directory / "stop").touch()
        self.wait(lambda: self.of(events.Ended))
        return self.of(events.Ended)[0].code

    def has_written(self, name: str = "result") -> str:
        return (self._directory / name).read_text()
