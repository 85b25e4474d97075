"""Gives the terminal to another program for a while: an editor, or another tfslowtop."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from ..sources.event_loop import signal_name

#: Editors by how they are told the line. Others are only given the file: they might take `+12` for one, too.
_PLUS = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "joe", "kak", "mg", "ne"}
)
_GOTO = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor"})
_COLON = frozenset({"hx", "helix", "subl", "zed"})

_ROOT = str(Path(__file__).resolve().parents[2])
#: The very package that runs now, and nothing that lies in the working directory.
_BOOTSTRAP = (
    "import sys; del sys.path[0]; sys.path.append(sys.argv.pop(1)); "
    "from tfslowtop.commands.main import main; sys.exit(main())"
)


def editor_command(file: str, line: int, env: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command that opens a file at a line, or an empty one if no editor is set."""
    try:
        command = shlex.split(env.get("VISUAL") or env.get("EDITOR") or "")
    except ValueError:  # a quote without its partner
        command = []
    if not command:
        return []
    name = Path(command[0]).name
    if name in _GOTO:
        return [*command, "--goto", f"{file}:{line}"]
    if name in _COLON:
        return [*command, f"{file}:{line}"]
    return [*command, f"+{line}", file] if name in _PLUS else [*command, file]


def scenario_command(scenario: str, *, ascii: bool) -> list[str]:
    """Return the command that opens tfslowtop on a scenario."""
    return [sys.executable, "-c", _BOOTSTRAP, _ROOT, *(["--ascii"] if ascii else []), scenario]


def hand_over(app: App[Any], command: Sequence[str]) -> str:
    """Run a program in the app's terminal until it ends. Return a sentence if that failed, or nothing."""
    failure = ""
    try:
        with app.suspend(), _deaf_to_keys():
            # Nothing may leave this block: Textual would not set up the terminal again.
            try:
                code = subprocess.run(command, check=False).returncode
                if code:
                    how = f"ended with exit code {code}" if code > 0 else f"was ended by {signal_name(-code)}"
                    failure = f"{Path(command[0]).name} {how}."
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                failure = f"Cannot start {command[0]}: {reason}."
    except SuspendNotSupported:
        return "This terminal cannot be given to another program."
    return failure


@contextmanager
def _deaf_to_keys() -> Iterator[None]:
    """Let Ctrl-C and Ctrl-\\ reach the other program only."""
    keys = (signal.SIGINT, signal.SIGQUIT)
    # A handler and not SIG_IGN, which the other program would inherit.
    before = {number: signal.signal(number, lambda number, frame: None) for number in keys}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
