"""What the pump tells the screen."""

from __future__ import annotations

from textual.message import Message

from ..state.view import View


class Updated(Message):
    """A new view of the run. A newer one replaces one that waits: a slow screen skips, it never queues."""

    def __init__(self, run: int, view: View) -> None:
        super().__init__()
        self.run = run
        self.view = view

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Updated)


class Broken(Message):
    """The run could not begin, or is no longer watched after an `error` of our own; in one sentence."""

    def __init__(self, run: int, text: str, error: Exception | None = None) -> None:
        super().__init__()
        self.run = run
        self.text = text
        self.error = error
