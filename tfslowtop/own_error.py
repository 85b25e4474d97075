"""Bugs in tfslowtop: one sentence, an exit code that nothing else uses, the traceback only on request."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

from .exit_codes import OWN_ERROR

#: Set to anything to get the traceback as well.
DEBUG_VARIABLE = "TFSLOWTOP_DEBUG"

_PACKAGE = Path(__file__).resolve().parent


def sentence(error: BaseException, ending: str = "") -> str:
    """Say what went wrong and where; `ending` says what became of the script."""
    what = traceback.format_exception_only(type(error), error)[-1].strip()
    words = (
        f"This is a bug in tfslowtop: {what[:300]}{_place(error)} ({DEBUG_VARIABLE}=1 shows the traceback)"
    )
    return f"{words}; {ending}." if ending else f"{words}."


def report_bug(error: BaseException, ending: str = "") -> int:
    """Print the sentence on standard error; return the exit code."""
    if os.environ.get(DEBUG_VARIABLE):
        say("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    say(f"tfslowtop: {sentence(error, ending)}")
    return OWN_ERROR


def describe_end(code: int) -> str:
    """Say what became of the script, for the end of a sentence."""
    if code >= 0:
        return f"the script ended with exit code {code}"
    return f"the script was killed by {signal.Signals(-code).name}"


def say(text: str) -> None:
    """Print on standard error; one that is closed or full does not change the exit code."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def drop_output() -> None:
    """Redirect standard output to nowhere, so that Python's last flush at exit does not fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _place(error: BaseException) -> str:
    """Return the innermost line that is in this package."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            return f" at {path.relative_to(_PACKAGE)}:{frame.lineno}"
    return ""
