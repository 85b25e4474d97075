"""Runs one fault for real: plain, or watched by the app, by `--headless` or by `check`.

Every process that a run starts carries a variable in its environment, by which what is left over is found
afterwards, whoever its parent is by then. Every place in which we might leave a file is a directory of the
run's own.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from terminal import Terminal

#: The app, the summary on standard error, and the command for CI.
APP, HEADLESS, CHECK = "app", "headless", "check"
ALL = (HEADLESS, CHECK, APP)
BOTH = (HEADLESS, APP)

#: Longer than anything takes here, on a machine with ten times more to do than cores.
PATIENCE = 60.0

#: The names that every script has: `mark` writes what is compared, `ready` lets the fault happen, and
#: `until_told` waits until it has.
_PRELUDE = (
    "import os, sys, time, signal, gc, threading\n"
    "_place = os.environ['FAULT_PLACE']\n"
    "def mark(*words):\n"
    "    with open(_place + '/marks', 'a') as file: print(*words, file=file)\n"
    "def _say(name):\n"
    "    with open(f'{_place}/{name}.new', 'w') as file: file.write(str(os.getpid()))\n"
    "    os.replace(f'{_place}/{name}.new', f'{_place}/{name}')\n"
    "def ready(): _say('ready')\n"
    "def until_told():\n"
    "    while not os.path.exists(_place + '/go'): time.sleep(0.01)\n"
    "if __name__ == '__main__': _say('pid')\n"
)

#: What the app says of a script that has ended, in whichever way.
_ENDED = re.compile(r"exit code|killed by|was stopped|keeper was killed|cannot be|belongs to|No place for")

#: A traceback through our own watcher. The agent's frames are in the script, where nothing may show at all.
OUR_TRACEBACK = re.compile(r'Traceback \(most recent call last\):.*File "[^"]*/tfslowtop/', re.DOTALL)


class Running:
    """One run, while it runs."""

    def __init__(self, fault: Fault, mode: str) -> None:
        self.fault, self.mode = fault, mode
        self.place = Path(tempfile.mkdtemp(prefix="tfs-"))  # short: the address of a socket is in it
        self.name = self.place.name
        self.work = self.place / "work"
        for directory in ("work", "r", "s", "t"):
            (self.place / directory).mkdir(mode=0o700)
        text = _PRELUDE + ("import numpy\n" if fault.numpy else "") + fault.script + "\n"
        self.file = fault.file.replace("@", str(self.place))
        (self.work / self.file).write_text(text)
        if fault.user:
            for path in (self.place, *self.place.rglob("*")):
                os.chown(path, fault.user, fault.user)
        self.terminal: Terminal | None = None
        self.process: subprocess.Popen[bytes]
        self._start()

    def environment(self) -> dict[str, str]:
        places = {"XDG_RUNTIME_DIR": "r", "TFSLOWTOP_SESSIONS": "s", "TMPDIR": "t"}
        return {
            **os.environ,
            "FAULT_PLACE": str(self.place),
            "OPENBLAS_NUM_THREADS": "1",
            **{name: str(self.place / directory) for name, directory in places.items()},
            **{name: value.replace("@", str(self.place)) for name, value in self.fault.env.items()},
        }

    def _command(self) -> list[str]:
        fault = self.fault
        program = [*fault.python, self.file, *fault.arguments]
        ours = [sys.executable, "-m", "tfslowtop"]
        options = [option.replace("@", str(self.place)) for option in fault.options]
        command = {
            "plain": [sys.executable, *program],
            HEADLESS: [*ours, "--headless", *options, "--attach", *program],
            CHECK: [*ours, "check", "--allow-nothing", *options, *program],
            APP: [*ours, *options, "--attach", *program],
        }[self.mode]
        user = _as_user(fault.user) if fault.user else []
        return ["bash", "-c", f"cd {self.work} && {fault.shell}", "bash", *user, *command]

    def _start(self) -> None:
        if self.mode == APP:
            self.terminal = Terminal(self._command(), *self.fault.size, env=self.environment())
            self.process = self.terminal.process
            return
        (self.place / "in").write_bytes(self.fault.stdin)
        with contextlib.ExitStack() as stack:
            streams = [
                stack.enter_context((self.place / name).open(mode))
                for name, mode in (("in", "rb"), ("out", "wb"), ("err", "wb"))
            ]
            self.process = subprocess.Popen(
                self._command(),
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                env=self.environment(),
                start_new_session=True,
            )

    # -- what a fault may do ------------------------------------------------------------------------------

    @property
    def script(self) -> int:
        return int((self.place / "pid").read_text())

    @property
    def keeper(self) -> int:
        """The script's parent, in the app."""
        status = Path(f"/proc/{self.script}/status").read_text()
        return int(re.search(r"PPid:\s*(\d+)", status)[1])  # type: ignore[index]

    def wait_for_file(self, name: str) -> None:
        self.wait_until(lambda: (self.place / name).exists() or self.process.poll() is not None)

    def wait_until(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not reached():
            assert time.monotonic() < deadline, self.story()
            self.breathe()

    def breathe(self) -> None:
        """A terminal that nobody reads would hold the app."""
        if self.terminal is not None:
            self.terminal.read(0.02)
        time.sleep(0.005)

    def watcher_ends(self) -> None:
        self.wait_until(lambda: self.process.poll() is not None)

    def go(self) -> None:
        (self.place / "go").touch()

    # -- the end ------------------------------------------------------------------------------------------

    def finish(self, *, patient: bool = False) -> int:
        """The watcher's exit code; the app is left with `q` when the script has ended.

        Who is `patient` waits for the sentence that says so, though the script is long gone.
        """
        if self.terminal is None:
            self.watcher_ends()
            return self.process.returncode
        patience = 10.0 if self.fault.size >= (60, 16) else 1.0
        gone_at, pressed = 0.0, 0.0
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.story()
            self.breathe()
            now = time.monotonic()
            if not (gone_at or patient) and self.script_is_gone():
                gone_at = now
            # A screen that is too small for a sentence still hears keys.
            over = _ENDED.search(self.terminal.text) or (gone_at and now > gone_at + patience)
            if over and now > pressed + 1:
                self.last_screen = self.terminal.text
                pressed = now
                self.terminal.press("q")
        self.terminal.read(0.2)
        return self.process.returncode

    last_screen = ""

    def script_is_gone(self) -> bool:
        file = self.place / "pid"
        return file.exists() and file.read_text() != "" and not _runs(self.script)

    def left_running(self) -> list[str]:
        """Processes of this run that are still there when all should have ended."""
        deadline = time.monotonic() + PATIENCE / 3
        while left := _marked(self.name):
            if time.monotonic() > deadline:
                break
            self.breathe()
        return left

    def left_lying(self) -> list[str]:
        return sorted(str(p.relative_to(self.place)) for d in "rst" for p in (self.place / d).iterdir())

    def story(self) -> str:
        """What is known of it, for the message of a failure."""
        screen = self.terminal.text if self.terminal is not None else ""
        return f"{self.fault.name}, {self.mode}:\n{self.text('err')}\n{screen}\nmarks: {self.text('marks')}"

    def text(self, name: str) -> str:
        file = self.place / name
        text = file.read_bytes().decode(errors="replace") if file.exists() else ""
        return re.sub(r"0x[0-9a-f]{6,}", "0x", text.replace(str(self.place), "@"))

    def close(self) -> None:
        if self.terminal is not None:
            self.terminal.close()
        elif self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for line in _marked(self.name):
            with contextlib.suppress(OSError):
                os.kill(int(line.split()[0]), signal.SIGKILL)
        shutil.rmtree(self.place, ignore_errors=True)


Act = Callable[[Running], object]


@dataclass(frozen=True)
class Fault:
    """A row. `@` in `env` and `options` is the run's own directory."""

    name: str
    script: str = "mark('end')"
    modes: tuple[str, ...] = ALL
    act: Act | None = None
    """What is done to a run whose script has called `ready()`; `go` follows."""
    plain_act: Act | None = None
    """The same for the script by itself; nothing, if what happens concerns the watcher alone."""
    codes: Mapping[str, int] = field(default_factory=dict)
    """Exit codes by mode, where they do not follow from the script's own."""
    says: str = ""
    """A pattern in what we say: standard error, or the screen."""
    never: str = ""
    """A pattern that must be nowhere in it."""
    runs: bool = True
    """False for what is refused before the script starts."""
    same_output: bool = True
    """False where the script's output is never the same twice, or is not there to be compared."""
    numpy: bool = True
    """False for a script that imports it by itself, or never."""
    afterwards: Act | None = None
    """What has to be done before everything must be gone: the end of an unwatched script is kept."""
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    shell: str = 'exec "$@"'
    """Starts the command, `$@`, in whatever limits, streams and terminals."""
    file: str = "script.py"
    size: tuple[int, int] = (80, 24)
    user: int = 0


@dataclass(frozen=True)
class Outcome:
    code: int
    marks: str
    out: str
    said: str
    """Standard error, or the last screen with all that came after it."""
    raw: bytes
    running: list[str]
    lying: list[str]


def run(fault: Fault, mode: str) -> Outcome:
    act = fault.plain_act if mode == "plain" else fault.act
    running = Running(fault, mode)
    try:
        if act is not None:
            running.wait_for_file("ready")
            act(running)
        running.go()
        code = running.finish()
        said, raw = running.text("err"), b""
        if running.terminal is not None:
            said, raw = f"{running.last_screen}\n{running.terminal.text}", running.terminal.raw
        if mode != "plain" and fault.afterwards is not None:
            fault.afterwards(running)
        left = running.left_running()
        return Outcome(
            code, running.text("marks"), running.text("out"), said, raw, left, running.left_lying()
        )
    finally:
        running.close()


def _as_user(number: int) -> list[str]:
    """With the right to read what is root's own, such as an interpreter in its home directory."""
    return [
        "setpriv",
        f"--reuid={number}",
        f"--regid={number}",
        "--clear-groups",
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search",
    ]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _marked(name: str) -> list[str]:
    """Processes that were started under the variable, with their command lines."""
    return list(_find(f"/{name}\0".encode()))


def _find(ending: bytes) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if b"FAULT_PLACE=" not in (environ := (entry / "environ").read_bytes() + b"\0"):
                continue
            if ending in environ and _runs(int(entry.name)):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                yield f"{entry.name} {b' '.join(words).decode(errors='replace')[:120]}"
        except OSError:
            continue
