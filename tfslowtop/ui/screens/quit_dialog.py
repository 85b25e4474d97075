"""The question that quitting asks while the script is still running."""

from __future__ import annotations

from typing import Literal

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from .terminal_size import LatestSizeOnly

Answer = Literal["stop", "detach", "stay"]


class QuitDialog(LatestSizeOnly, ModalScreen[Answer]):
    """Asks what should become of the script. Who insists on quitting, with `q` or Ctrl-C again, stops it."""

    BINDINGS = [
        Binding("s,q,ctrl+c", "answer('stop')", "Stop it", key_display="s"),
        Binding("d", "answer('detach')", "Leave it running"),
        Binding("escape", "answer('stay')", "Stay", key_display="esc"),
    ]

    def __init__(self, script: str) -> None:
        super().__init__()
        self._script = script

    def compose(self) -> ComposeResult:
        with Vertical(id="quit-dialog"):
            yield Static(
                f"{self._script} is still running.\n\n"
                "s, q  stop it, like Ctrl-C\n"
                "d     leave it running\n"
                "      (tfslowtop --reattach)\n"
                "esc   stay here",
                markup=False,
            )

    def action_answer(self, answer: Answer) -> None:
        self.dismiss(answer)
