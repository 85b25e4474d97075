"""Decides who owns a line of code: the user, or a library."""

# File names come and go as text here, thousands of them.
# ruff: noqa: PTH100, PTH118, PTH120, PTH206

from __future__ import annotations

import functools
import os.path
import site
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Any

#: The directory of all of tfslowtop.
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PARTS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
#: Layers of decorators that are unwrapped: a cycle must not hang the program.
MOST_LAYERS = 20
_MAKERS = ("__autograph_generated_file",)


class Ownership:
    def __init__(self, script: str) -> None:
        self._is_command = script.rpartition(os.sep)[2] == "-c"
        self._own = self._package_of(script)
        self._inside_own = os.path.join(self._own, "")
        paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        paths |= {site.getusersitepackages()} if site.ENABLE_USER_SITE else set()
        paths.add(_OURS)
        self._roots = tuple(os.path.join(path, "") for path in paths if path)
        self._known: dict[str, bool] = {}

    @staticmethod
    def _package_of(script: str) -> str:
        """Find the installed package that is the script (`-m package.train`): it counts as the user's."""
        if script.rpartition(os.sep)[2] == "-m":  # Python's name for it until the package is imported
            script = _run_as_module()
        path = os.path.abspath(script) if script else ""
        if path.startswith(os.path.join(_OURS, "")):
            return os.path.dirname(path)  # a scenario, in an installed tfslowtop
        for part in _PARTS:
            if part in path:
                head, tail = path.split(part, 1)
                return os.path.join(head + part, tail.split(os.sep)[0])
        return ""

    def is_library(self, file: str) -> bool:
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = self._decide(file)
        return known

    def _decide(self, file: str) -> bool:
        if not file:
            return False
        if file.startswith("<frozen ") or any(maker in file for maker in _MAKERS):
            return True
        if file == "<string>":
            return not self._is_command  # made by a library, such as the methods of a named tuple
        if file.startswith("<"):
            return False  # <stdin>, <ipython-input-3>
        path = os.path.abspath(file)
        if self._own and (path == self._own or path.startswith(self._inside_own)):
            return False
        return any(part in path for part in _PARTS) or path.startswith(self._roots)

    def is_users(self, error: BaseException) -> bool:
        """Whether an error from our code belongs to the program: a signal handler ran there and raised it."""
        at = error.__traceback__
        while at is not None:
            if not self.is_library(at.tb_frame.f_code.co_filename):
                return True
            at = at.tb_next
        return False

    def user_frame(self, frame: FrameType | None) -> FrameType | None:
        """Find the innermost frame of the user's own code, from `frame` outwards."""
        known = self._known
        while frame is not None:
            file = frame.f_code.co_filename
            library = known.get(file)
            if library is None:
                library = self.is_library(file)
            if not library:
                return frame
            frame = frame.f_back
        return None

    def user_line(self, frame: FrameType | None) -> tuple[str, int]:
        user = self.user_frame(frame)
        return (user.f_code.co_filename, user.f_lineno or 0) if user is not None else ("", 0)


def _run_as_module() -> str:
    """Return the file of the package in `python -m package.module`, from the command line."""
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        if argument in ("-W", "-X"):
            next(arguments, "")
        elif argument.startswith("-m"):
            package = (argument[2:] or next(arguments, "")).partition(".")[0]
            return str(getattr(sys.modules.get(package), "__file__", None) or "")
        elif argument == "-c" or not argument.startswith("-"):
            break
    return ""


def function_of(function: Any) -> Any:
    """Unwrap decorators, bound methods and partials."""
    inner: Any
    for _ in range(MOST_LAYERS):
        if isinstance(function, functools.partial):
            inner = function.func
        else:
            inner = getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        if inner is None:
            break
        function = inner
    return function


def code_of(function: Any) -> CodeType | None:
    """Return the code behind decorators, bound methods, partials and callable objects."""
    function = function_of(function)
    code: Any = getattr(function, "__code__", None)
    if code is None and not isinstance(function, type) and callable(function):
        code = getattr(type(function).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


def version_of(module: str) -> str:
    return str(getattr(sys.modules.get(module), "__version__", "of an unknown version"))
