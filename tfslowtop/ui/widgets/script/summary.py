"""The text above a script's streams: what its step is, why functions were retraced, and notes."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ....agent.protocol.names import PHASE_IMPORTING
from ....diagnosis.names import RETRACE_REASONS
from ....state.view import View
from ...format import plain
from .streams import display_name

#: Notes that are shown, the newest; more would push the curves away.
_NOTES = 2


class Summary(Static):
    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="summary", markup=False)
        self._ascii = ascii
        self._shown = ""

    def show(self, text: str) -> None:
        if text != self._shown:
            self._shown = text
            self.update(Text(plain(text) if self._ascii else text))


def summarise(view: View, *, healthy: bool = False) -> str:
    """Return the summary, a sentence per line.

    Where the card says `healthy`, a few retraces at the start are not worth advice that would contradict it.
    """
    if view.phase == PHASE_IMPORTING and view.ended is None:
        return ""
    said = [_describe_step(view)]
    if not healthy and not any(f.cause in RETRACE_REASONS for f in view.findings):
        said += view.retraced[:1]  # too little for a finding, but the panel counts it: say why
    return "\n".join(line for line in [*said, *view.notes[-_NOTES:]] if line)


def _describe_step(view: View) -> str:
    step = next((s for s in view.streams if s.is_step), None)
    if step is None:
        return ""
    place = f" ({step.file.rsplit('/', 1)[-1]}:{step.line})" if step.file else ""
    why = f": {view.step_why}" if view.step_why else ""
    return f"The step is {display_name(step)}{place}{why}. Wrong step? Select another row and press S."
