"""A private copy of the directories that a script runs in, so that no run touches the user's files.

Every run starts in a fresh copy at the same path: what one run writes, such as a checkpoint, is not there for
the next. A patched file just has another text in the copy, so imports, tracebacks, AutoGraph, bytecode caches
and child processes all see it. Only the beginning of absolute paths differs from the original.
"""

# Paths are compared and replaced as text here.
# ruff: noqa: PTH100, PTH113, PTH115, PTH117, PTH118

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...sources.launch import find_target

#: What is copied at most, in files and bytes: a few seconds of copying for each run.
MOST_FILES, MOST_BYTES = 20_000, 500_000_000
#: Directories that the copy links to instead: large, and only read.
_LINKED = (".git", ".hg", "node_modules")
#: A bytecode cache could be of the unpatched file.
_SKIPPED = ("__pycache__",)
#: Files that every run may write: devices, and temporary files with a name that nobody else uses.
_HARMLESS = ("/dev/", "/proc/", "/sys/", os.path.join(tempfile.gettempdir(), "tmp"))


class TooLargeError(Exception):
    """There is no private copy; the message is a sentence that says why."""


class Workspace:
    """Copies of the script's directory and of the working directory, if one does not contain the other."""

    def __init__(self, argv: Sequence[str], cwd: Path | None = None) -> None:
        """Find the directories; raise TooLargeError if they are too large to copy."""
        self._cwd = Path(os.path.realpath(cwd or Path.cwd()))
        self._roots = _roots(argv, self._cwd)
        self._argv = argv
        _check_size(self._roots)
        self._base = Path(os.path.realpath(tempfile.mkdtemp(prefix="tfslowtop-whatif-")))

    def close(self) -> None:
        shutil.rmtree(self._base, ignore_errors=True)

    @property
    def output(self) -> Path:
        """A directory for what the runs print."""
        return self._base

    def renew(self, texts: Mapping[str, bytes]) -> None:
        """Make a fresh copy, in which these files of the original have another text."""
        for n, root in enumerate(self._roots):
            copy = self._base / str(n)
            shutil.rmtree(copy, ignore_errors=True)
            self._copy_tree(root, copy)
        for file, text in texts.items():
            Path(self.private(file)).write_bytes(text)

    def _copy_tree(self, source: Path, copy: Path) -> None:
        copy.mkdir(parents=True)
        for entry in os.scandir(source):
            there = copy / entry.name
            with suppress(PermissionError, FileNotFoundError):  # the script could not read it either
                if entry.name in _SKIPPED:
                    continue
                if entry.is_symlink():
                    there.symlink_to(self.private(os.path.realpath(entry.path)))
                elif entry.is_dir() and _is_apart(source, entry.name):
                    there.symlink_to(entry.path)
                elif entry.is_dir():
                    self._copy_tree(Path(entry.path), there)
                elif stat.S_ISREG(entry.stat().st_mode):
                    shutil.copy2(entry.path, there)

    def private(self, path: str) -> str:
        """Return where an absolute path of the original is in the copy; other paths as they are."""
        for n, root in enumerate(self._roots):
            if path == str(root) or path.startswith(os.path.join(root, "")):
                return str(self._base / str(n)) + path[len(str(root)) :]
        return path

    def original(self, path: str) -> str:
        """Return what a path in the copy is a copy of; other paths as they are."""
        for n, root in enumerate(self._roots):
            copy = str(self._base / str(n))
            if path == copy or path.startswith(copy + os.sep):
                return str(root) + path[len(copy) :]
        return path

    def is_copied(self, path: str) -> bool:
        return path.startswith(str(self._base) + os.sep)

    @property
    def cwd(self) -> str:
        return self.private(str(self._cwd))

    @property
    def argv(self) -> list[str]:
        """The command line, in which absolute paths lead into the copy."""
        words = [self._word(word) for word in self._argv]
        target = find_target(self._argv)
        if target.kind == "file" and len(self._roots) > 1:  # relative to one copy it is not where it was
            words[target.position] = self.private(os.path.abspath(self._cwd / target.name))
        return words

    def _word(self, word: str) -> str:
        name, equals, value = word.partition("=")
        if equals and os.path.isabs(value):
            return f"{name}={self.private(value)}"
        return self.private(word) if os.path.isabs(word) else word

    @property
    def environment(self) -> dict[str, str]:
        """Our own environment, with a PYTHONPATH that leads into the copy."""
        environment = dict(os.environ)
        if "PYTHONPATH" in environment:
            entries = environment["PYTHONPATH"].split(os.pathsep)
            environment["PYTHONPATH"] = os.pathsep.join(self.private(entry) for entry in entries)
        if "PWD" in environment:
            environment["PWD"] = self.cwd
        return environment

    def written_outside(self, pid: int) -> set[str]:
        """Return the files outside of the copy that a process has open for writing."""
        found = set()
        with suppress(OSError):  # it may have ended
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with suppress(OSError, ValueError, IndexError):
                    target = os.readlink(entry.path)
                    if not target.startswith("/") or not os.path.isfile(target) or self.is_copied(target):
                        continue
                    info = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text().split("flags:")[1]
                    if int(info.split()[0], 8) & os.O_ACCMODE:
                        found.add(target)
        return {file for file in found if not file.startswith(_HARMLESS)}


def _roots(argv: Sequence[str], cwd: Path) -> list[Path]:
    target = find_target(argv)
    roots = [cwd]
    if target.kind == "file":
        script = cwd / target.name
        home = Path(os.path.realpath(script if script.is_dir() else script.parent))
        if cwd.is_relative_to(home):
            roots = [home]
        elif not home.is_relative_to(cwd):
            roots.append(home)
    return roots


def _check_size(roots: Sequence[Path]) -> None:
    files = size = 0
    for root in roots:
        for directory, names, entries in os.walk(root):
            names[:] = [name for name in names if not _is_apart(Path(directory), name)]
            for name in entries:
                with suppress(OSError):
                    size += os.lstat(os.path.join(directory, name)).st_size
            files += len(entries)
            if files > MOST_FILES or size > MOST_BYTES:
                raise TooLargeError(
                    f"{root} is too large for a private copy (more than {MOST_FILES:,} files or "
                    f"{MOST_BYTES / 1e6:.0f} MB), so no patched copy was run."
                )
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if size > free / 2:
        raise TooLargeError(
            f"{tempfile.gettempdir()} has no room for a private copy, so no patched copy was run."
        )


def _is_apart(directory: Path, name: str) -> bool:
    """Whether a directory is not copied: it is left out, or the copy links to it."""
    return name in _SKIPPED or name in _LINKED or (directory / name / "pyvenv.cfg").is_file()
