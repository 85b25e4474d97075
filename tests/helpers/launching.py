"""Runs a script bare and watched, so that a test can lay the two side by side."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paths import PROGRAMS

from tfslowtop.agent.protocol.events import Ended, Event, Output
from tfslowtop.sources.script import ScriptSource

SCRIPTS = PROGRAMS
STANDIN = str(SCRIPTS / "standin")


@dataclass
class Result:
    code: int
    out: bytes
    err: bytes = b""
    events: list[Event] = field(default_factory=list)

    def __iter__(self):
        yield from (self.code, self.out, self.err)


def environment(**more: str) -> dict[str, str]:
    """With a module called tensorflow that imports at once."""
    return {**os.environ, "PYTHONPATH": STANDIN, **more}


def collect(source: ScriptSource, seconds: float = 60.0) -> list[Event]:
    """Everything up to the end."""
    events: list[Event] = []
    deadline = time.monotonic() + seconds
    while not (events and isinstance(events[-1], Ended)):
        assert time.monotonic() < deadline, events[-20:]
        events += source.events(0.2)
    return events


def text_of(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Output))


def wait_for(source: ScriptSource, wanted, seconds: float = 60.0) -> list[Event]:
    """Events up to the moment when `wanted(events)` holds."""
    events: list[Event] = []
    deadline = time.monotonic() + seconds
    while not wanted(events):
        assert time.monotonic() < deadline, events[-20:]
        assert not (events and isinstance(events[-1], Ended)), events[-20:]
        events += source.events(0.1)
    return events


def bare(argv, *, env: Mapping[str, str], cwd=SCRIPTS, python=sys.executable, stdin=b"") -> Result:
    done = subprocess.run(
        [python, *argv], env=env, cwd=cwd, input=stdin, capture_output=True, timeout=60, close_fds=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


def watched(argv, capfdbinary, *, env, cwd=SCRIPTS, python=None, stdin=b"", **more) -> Result:
    """Headless: the script writes to our own descriptors, which pytest captures."""
    capfdbinary.readouterr()
    read, write = os.pipe()
    os.write(write, stdin)
    os.close(write)
    source = ScriptSource(argv, env=env, cwd=str(cwd), python=python, headless=True, stdin=read, **more)
    try:
        source.start()
        events = collect(source)
    finally:
        source.close()
        os.close(read)
    captured = capfdbinary.readouterr()
    return Result(events[-1].code, captured.out, captured.err, events)


def bare_in_terminal(argv, *, env, cwd=SCRIPTS, typed: bytes = b"") -> Result:
    pid, master = pty.fork()
    if pid == 0:
        os.closerange(3, 1024)
        os.chdir(cwd)
        os.execve(sys.executable, [sys.executable, *argv], dict(env))
    from tfslowtop.sources.keeper.terminal import resize

    resize(master, 24, 80)
    out = []
    if typed:
        os.write(master, typed)
    while select.select([master], [], [], 60)[0]:
        try:
            out.append(os.read(master, 1 << 16))
        except OSError:
            break
    os.close(master)
    return Result(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), b"".join(out))


def watched_in_terminal(argv, *, env, cwd=SCRIPTS, typed: str = "", **more) -> Result:
    source = ScriptSource(argv, env=env, cwd=str(cwd), **more)
    try:
        source.start()
        if typed:
            source.type(typed)
        events = collect(source)
    finally:
        source.close()
    return Result(events[-1].code, text_of(events).encode(), b"", events)
