"""The text above a script's curves: how it crashed, that it is healthy, what its step is, and notes."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from ....state.view import View
from ...format import plain
from ...output_text import lines
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


def summarise(view: View) -> str:
    """Return the summary, a sentence per line."""
    crash = crash_lines(view)
    said = [*crash, _describe_step(view)]
    if not any(f.cause.startswith(("retrace", "function")) for f in view.findings):
        said += view.retraced[:1]  # too little for a finding, but the panel counts it: say why
    if not (view.findings or view.retraced or crash) and (view.iterations or not view.tensorflow):
        said.insert(0, view.healthy)
    return "\n".join(line for line in [*said, *view.notes[-_NOTES:]] if line)


def crash_lines(view: View) -> list[str]:
    """Return the last line of the exception that ended the script, and how to see all of it."""
    if view.ended is None or view.ended.code <= 0 or "Traceback (most recent call last)" not in view.output:
        return []
    last = next((line for line in reversed(lines(view.output, 20)) if line.strip()), "")
    return [last, "Press o to see the traceback."]


def _describe_step(view: View) -> str:
    step = next((s for s in view.streams if s.is_step), None)
    if step is None and view.tensorflow:
        return "No step found yet: nothing has repeated often enough."
    if step is None:
        found = "Steps are found once TensorFlow is imported, or where tfslowtop.step() marks them."
        return "" if view.ended else f"{found} Press o for the output, m for the CPU."
    place = f" ({step.file.rsplit('/', 1)[-1]}:{step.line})" if step.file else ""
    why = f": {view.step_why}" if view.step_why else ""
    return f"The step is {display_name(step)}{place}{why}. Wrong step? Select another row and press S."
