"""From a command line, as one would write it after `python`, to what is started; or one sentence why not."""

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
from .source import SourceError

OLDEST = (3, 10)

#: What PYTHONPATH names, so that the user's interpreter finds our sitecustomize.
BOOTSTRAP = Path(agent.__file__).resolve().parent / "boot" / "path"

#: sitecustomize knows these by the same prefix, and takes them out of the environment.
PREFIX = "TFSLOWTOP_ATTACH_"

#: The options of ours that people write after the script by mistake.
OPTIONS = frozenset(
    {
        "--headless",
        "--json",
        "--max-seconds",
        "--python",
        "--step",
        "--output",
        "--reattach",
    }
)

_FLAGS = frozenset("bBdhiOPqsuvVx?")  # of Python's own, one letter, without a value
_REFUSED = {"I": "-I", "E": "-E", "S": "-S"}
_PROBE = "import sys; sys.stdout.write('tfslowtop-probe %d.%d' % sys.version_info[:2])"
_COMPILE = (
    "import sys, traceback, warnings\n"
    "warnings.simplefilter('ignore')\n"
    "try:\n"
    "    compile(open(sys.argv[1], 'rb').read(), sys.argv[1], 'exec', dont_inherit=True)\n"
    "except (SyntaxError, ValueError) as error:\n"
    "    sys.stdout.write(''.join(traceback.format_exception_only(type(error), error)))\n"
)


@dataclass(frozen=True, slots=True)
class Target:
    """What Python's command line runs: a file, a module (-m), code (-c) or standard input."""

    kind: str
    name: str
    position: int  # of `name` in the command line: what follows is the program's own


@dataclass(frozen=True, slots=True)
class Command:
    """Ready to be started."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: str


def find_target(argv: Sequence[str]) -> Target:
    """Reads a command line as Python reads it: its own options, then what to run."""
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
                    f"{_REFUSED[letter]} keeps Python from loading what watches the script; leave it out."
                )
            if letter in "cmWX":
                value, used = (
                    (word[at:], 1) if len(word) > at else (next(iter(argv[position + 1 :]), None), 2)
                )
                if value is None:
                    raise SourceError(f"-{letter} at the end of the command line: something must follow it.")
                if letter in "cm":
                    return Target({"c": "code", "m": "module"}[letter], value, position + used - 1)
                position += used - 1
                break
            if letter not in _FLAGS:
                raise SourceError(f"Python has no option -{letter}; our own options stand before --attach.")
        position += 1
    raise SourceError(
        "Nothing to run: --attach is followed by a script and its arguments, as after `python`."
    )


def misplaced_options(argv: Sequence[str], ours: Collection[str] = OPTIONS) -> str | None:
    """A hint when an option of ours stands after the script, where it is the script's."""
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
    return f"{names} {goes} to {program}. If {they} meant for tfslowtop, write {them} before --attach."


def prepare(
    argv: Sequence[str],
    *,
    python: str | None,
    step: str | None,
    env: Mapping[str, str] | None,
    cwd: str | None,
    address: str,
    token: str,
) -> Command:
    """Checks everything that can be checked without running the script."""
    directory = _working_directory(cwd)
    if not directory.is_dir():
        raise SourceError(f"The working directory {directory} does not exist.")
    target = find_target(argv)
    # The file first: it is what people mistype.
    source = _readable(target.name, directory) if target.kind == "file" else None
    interpreter = sys.executable if python is None else _interpreter(python)
    if source is not None:
        problem = _own_check(source) if python is None else _ask(interpreter, _COMPILE, str(source))
        if problem:
            raise SourceError(problem.rstrip("\n"))
    environment = dict(os.environ if env is None else env)
    return Command((interpreter, *argv), _with_bootstrap(environment, step, address, token), str(directory))


def _working_directory(cwd: str | None) -> Path:
    try:
        return Path(cwd or ".").absolute()
    except FileNotFoundError:
        return Path()  # ours was deleted: it has no path, but the script can still run in it, as without us


def _with_bootstrap(
    environment: dict[str, str], step: str | None, address: str, token: str
) -> dict[str, str]:
    before = environment.get("PYTHONPATH")
    # An entry in place keeps its place: the script sees the variables in the order that they had.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(BOOTSTRAP), before]))
    ours = {"SOCKET": address, "TOKEN": token, "STEP": step, "PYTHONPATH": before}
    environment.update({PREFIX + name: value for name, value in ours.items() if value is not None})
    return environment


def _readable(name: str, directory: Path) -> Path | None:
    """The script as a file whose text can be checked; None for what Python can run but we cannot read."""
    path = directory / name
    try:
        if path.is_dir():
            if (path / "__main__.py").is_file():
                return None
            raise SourceError(f"{name} is a directory without a __main__.py; name the script in it.")
        if not path.exists():
            raise SourceError(f"{name} does not exist{_suggestion(path)}")
        if not path.is_file():
            return None  # a pipe: reading it would take it from Python
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}.") from error
    if path.suffix == ".pyc" or zipfile.is_zipfile(path):
        return None
    if b"\0" in data:
        raise SourceError(f"{name} is not a Python script: it holds binary data.")
    return path


def _suggestion(path: Path) -> str:
    if not path.suffix and path.with_suffix(".py").is_file():
        return f"; did you mean {path.name}.py?"
    return "."


def _own_check(path: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the script's own warnings come when it runs
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
        raise SourceError(f"The interpreter {name} does not exist.")
    path = path.absolute()  # not resolved: a virtual environment's python is a link, and its place matters
    answer = _ask(str(path), _PROBE)
    words = answer.split()
    if words[:1] != ["tfslowtop-probe"]:
        raise SourceError(f"{name} is not a Python interpreter.")
    version = tuple(map(int, words[1].split(".")))
    if version < OLDEST:
        raise SourceError(
            f"{name} is Python {words[1]}; tfslowtop can watch Python {OLDEST[0]}.{OLDEST[1]} and later."
        )
    return str(path)


def _ask(interpreter: str, code: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [interpreter, "-E", "-S", "-c", code, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
