"""Errors of our own: one sentence, an exit code that nothing else uses, the traceback only on request."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

#: EX_SOFTWARE of sysexits.h. The script's own result is in the sentence.
OWN_ERROR = 70

#: Set to anything: the traceback is printed as well.
DEBUG_VARIABLE = "TFSLOWTOP_DEBUG"

_PACKAGE = Path(__file__).resolve().parent


def sentence(error: BaseException, ending: str = "") -> str:
    """What went wrong and where; `ending` says what became of the script."""
    what = traceback.format_exception_only(type(error), error)[-1].strip()
    words = (
        f"This is a bug in tfslowtop: {what[:300]}{_place(error)} ({DEBUG_VARIABLE}=1 shows the traceback)"
    )
    return f"{words}; {ending}." if ending else f"{words}."


def tell(error: BaseException, ending: str = "", command: str = "tfslowtop") -> int:
    """Prints the sentence on standard error; returns the exit code."""
    if os.environ.get(DEBUG_VARIABLE):
        say("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    say(f"{command}: {sentence(error, ending)}")
    return OWN_ERROR


def describe_end(code: int) -> str:
    """What became of the script, for the end of a sentence."""
    if code >= 0:
        return f"the script ended with exit code {code}"
    return f"the script was killed by {signal.Signals(-code).name}"


def say(text: str) -> None:
    """Prints on standard error; a standard error that is closed or full changes no exit code."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def drop_output() -> None:
    """Standard output takes no more. What waits in its buffer would fail again when Python exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _place(error: BaseException) -> str:
    """The innermost line of this package."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            return f" at {path.relative_to(_PACKAGE)}:{frame.lineno}"
    return ""
