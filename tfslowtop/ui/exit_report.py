"""What leaving the script app prints on the terminal, so that nothing is lost with the screen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..state.view import View
from .output_text import lines

if TYPE_CHECKING:
    from ..state.session import Session

#: Lines of output that are printed again: enough to see what the script was doing.
_LAST_LINES = 10
#: Lines of a traceback that are printed again. Tracebacks through Keras often have thirty.
_TRACEBACK_LINES = 60
_TRACEBACK = "Traceback (most recent call last)"


def write_exit_report(name: str, argv: Sequence[str], session: Session) -> str:
    """Return the script's last output and the summary that `--headless` prints.

    Only for the thread that owns the session.
    """
    from ..export.summary import summary

    session.streams.recompute_all()
    view = session.view(time.perf_counter_ns(), 2, 0.5)
    output = last_output(view)
    heading = [f"The last output of {name}:"] if output else []
    return "\n".join([*heading, *(f"  {line}" for line in output), summary(argv, view, session, "")])


def last_output(view: View) -> list[str]:
    """Return the traceback that ended the script, or else its last lines of output."""
    written = lines(view.output, _TRACEBACK_LINES)
    crashed = view.ended is not None and view.ended.code > 0
    begin = max((n for n, line in enumerate(written) if line.startswith(_TRACEBACK)), default=None)
    return written[begin:] if crashed and begin is not None else written[-_LAST_LINES:]
