"""Messages from a run's thread to the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from ..state.view import View

if TYPE_CHECKING:
    from ..run import Run


class ViewUpdated(Message):
    """A new view of a run. It replaces one that still waits: a slow screen skips, it never queues."""

    def __init__(self, run: Run, view: View) -> None:
        super().__init__()
        self.run = run
        self.view = view

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ViewUpdated) and message.run is self.run


class RunFailed(Message):
    """A run could not start, or is no longer watched because of a bug in tfslowtop (`error`)."""

    def __init__(self, run: Run, text: str, error: Exception | None = None) -> None:
        super().__init__()
        self.run = run
        self.text = text
        self.error = error
