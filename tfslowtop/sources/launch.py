"""Turns a command line, written as after `python`, into a process to start; or says in a sentence why not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import traceback
import warnings
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import agent
from ..suggestions import closest
from .source import SourceError

#: The oldest Python that the agent runs on.
OLDEST = (3, 10)

#: Put on PYTHONPATH, so that the user's interpreter finds our sitecustomize.
BOOTSTRAP = Path(agent.__file__).resolve().parent / "boot" / "path"

#: sitecustomize knows its variables by the same prefix and removes them from the environment.
PREFIX = "TFSLOWTOP_ATTACH_"

#: Python's own one-letter options that take no value.
_FLAGS = frozenset("bBdhiOPqsuvVx?")
_REFUSED = {"I": "-I", "E": "-E", "S": "-S"}

#: Seconds for another interpreter to answer. One on a slow network drive may take several.
_PATIENCE = 30
_ANSWER = "tfslowtop-probe"
#: What another interpreter is asked, in syntax that any Python understands: its version, and whether it can
#: compile the script, if there is one.
_PROBE = (
    "import sys, traceback, warnings\n"
    f"sys.stdout.write('{_ANSWER} %d.%d\\n' % sys.version_info[:2])\n"
    "sys.stdout.flush()\n"
    "warnings.simplefilter('ignore')\n"
    "for name in sys.argv[1:]:\n"
    "    try:\n"
    "        compile(open(name, 'rb').read(), name, 'exec', dont_inherit=True)\n"
    "    except (SyntaxError, ValueError) as error:\n"
    "        sys.stdout.write(''.join(traceback.format_exception_only(type(error), error)))\n"
)


@dataclass(frozen=True, slots=True)
class Target:
    """What Python's command line runs: a file, a module (-m), code (-c) or standard input."""

    kind: str
    name: str
    position: int
    """The index of `name` in the command line: everything after it belongs to the program."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process that is ready to be started."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: str


@dataclass(frozen=True, slots=True)
class Program:
    """A command line that passed every check that is possible without running it."""

    argv: tuple[str, ...]
    interpreter: str
    cwd: str

    def command(
        self, *, env: Mapping[str, str] | None, step: str | None, address: str, token: str
    ) -> Command:
        """Return the command that starts it with the agent inside; `env` defaults to our own environment."""
        environment = dict(os.environ if env is None else env)
        before = environment.get("PYTHONPATH")
        # Updating in place keeps the order of the variables as the script would see it without us.
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(BOOTSTRAP), before]))
        ours = {"SOCKET": address, "TOKEN": token, "STEP": step, "PYTHONPATH": before}
        environment.update({PREFIX + name: value for name, value in ours.items() if value is not None})
        return Command((self.interpreter, *self.argv), environment, self.cwd)


def find_target(argv: Sequence[str]) -> Target:
    """Read a command line as Python does: its own options, then what to run."""
    position = 0
    while position < len(argv):
        word = argv[position]
        if word == "-" or not word.startswith("-"):
            return Target("stdin" if word == "-" else "file", word, position)
        if word.startswith("--"):
            # --check-hash-based-pycs is the only long option that is followed by a program.
            position += 2 if word == "--check-hash-based-pycs" else 1
            continue
        for at, letter in enumerate(word[1:], start=2):
            if letter in _REFUSED:
                raise SourceError(
                    f"{_REFUSED[letter]} keeps Python from loading tfslowtop's agent; leave it out."
                )
            if letter in "cmWX":
                value, used = (
                    (word[at:], 1) if len(word) > at else (next(iter(argv[position + 1 :]), None), 2)
                )
                if value is None:
                    raise SourceError(f"-{letter} needs a value after it.")
                if letter in "cm":
                    return Target({"c": "code", "m": "module"}[letter], value, position + used - 1)
                position += used - 1
                break
            if letter not in _FLAGS:
                raise SourceError(
                    f"Python has no option -{letter}; if it is the script's, write it after the script."
                )
        position += 1
    raise SourceError("There is nothing to run; name a script and its arguments, as after `python`.")


def misplaced_options(argv: Sequence[str], ours: Collection[str], before: str) -> str | None:
    """Return a hint if options of ours stand after the script, where they belong to the script.

    `before` names what they should stand before.
    """
    try:
        target = find_target(argv)
    except SourceError:
        return None
    after = [word.split("=", 1)[0] for word in argv[target.position + 1 :]]
    misplaced = [word for word in dict.fromkeys(after) if word in ours]
    if not misplaced:
        return None
    goes, they, them = ("goes", "it is", "it") if len(misplaced) == 1 else ("go", "they are", "them")
    program = target.name if target.kind in ("file", "module") else "the program"
    names = " and ".join(misplaced)
    return f"{names} {goes} to {program}. If {they} meant for tfslowtop, write {them} before {before}."


def check(argv: Sequence[str], *, python: str | None, cwd: str | None) -> Program:
    """Check everything that can be checked without running the script; raise SourceError if it cannot run.

    With `python` this starts that interpreter once.
    """
    directory = _working_directory(cwd)
    if not directory.is_dir():
        raise SourceError(f"The working directory {directory} does not exist.")
    target = find_target(argv)
    # The script first: its name is what people mistype.
    script = _readable(target.name, directory) if target.kind == "file" else None
    if python is None:
        interpreter, problem = sys.executable, _own_check(script) if script else ""
    else:
        interpreter = _interpreter(python)
        problem = _probe(python, interpreter, script)
    if problem:
        raise SourceError(problem.rstrip("\n"))
    return Program(tuple(argv), interpreter, str(directory))


def _working_directory(cwd: str | None) -> Path:
    try:
        return Path(cwd or ".").absolute()
    except FileNotFoundError:
        return Path()  # ours was deleted: it has no path, but the script can still run in it, as without us


def _readable(name: str, directory: Path) -> Path | None:
    """Return the script's path; None for what Python can run and we cannot check, such as an archive."""
    path = directory / name
    try:
        if path.is_dir():
            if (path / "__main__.py").is_file():
                return None
            raise SourceError(f"{name} is a directory without a __main__.py; name a script in it.")
        if not path.exists():
            raise SourceError(f"{name} does not exist; {_suggestion(path, name)}")
        if not path.is_file():
            return None  # a pipe: if we read it, Python could not
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}.") from error
    if path.suffix == ".pyc" or zipfile.is_zipfile(path):
        return None
    if b"\0" in data:
        raise SourceError(f"{name} is not a Python script but binary data.")
    return path


def _suggestion(path: Path, name: str) -> str:
    """Return the end of a sentence: the script beside `path` whose name is closest, if one is close."""
    close = closest(path.stem, [script.stem for script in path.parent.glob("*.py")])
    return f"did you mean {Path(name).with_name(close[0])}.py?" if close else "check its path."


def _own_check(path: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the script prints its warnings when it runs
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return "".join(traceback.format_exception_only(type(error), error))
    return ""


def _interpreter(name: str) -> str:
    path = Path(name).expanduser()
    if os.sep not in name:
        found = shutil.which(name)
        if found is None:
            raise SourceError(f"No interpreter {name} on the PATH; give --python its full path.")
        path = Path(found)
    if path.is_dir():
        inside = next((p for p in (path / "bin" / "python", path / "python") if p.is_file()), None)
        hint = f"did you mean {inside}?" if inside else "name the python in it."
        raise SourceError(f"{name} is a directory; {hint}")
    if not path.exists():
        raise SourceError(f"The interpreter {name} does not exist; give --python the path of one.")
    # Not resolved: the python of a virtual environment is a link, and it matters where the link is.
    return str(path.absolute())


def _probe(name: str, interpreter: str, script: Path | None) -> str:
    """Ask an interpreter for its version; return its complaint about the script, empty if it has none."""
    try:
        done = subprocess.run(
            [interpreter, "-E", "-S", "-c", _PROBE, *([str(script)] if script else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
        answer = done.stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        answer = ""
    greeting, _, complaint = answer.partition("\n")
    words = greeting.split()
    if words[:1] != [_ANSWER]:
        raise SourceError(f"{name} is not a Python interpreter; give --python the path of one.")
    version = tuple(map(int, words[1].split(".")))
    if version < OLDEST:
        raise SourceError(
            f"{name} is Python {words[1]}; tfslowtop can watch Python {OLDEST[0]}.{OLDEST[1]} and later."
        )
    return complaint
