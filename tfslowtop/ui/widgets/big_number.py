"""A number that can be read from the last row of a room."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Digits, Static


class BigNumber(Horizontal):
    """A number in large digits with small words beside it; one bold line in ASCII mode."""

    def __init__(self, *, ascii: bool, id: str) -> None:
        super().__init__(id=id, classes="big")
        self._ascii = ascii
        self._digits: Digits | Static = Static(markup=False) if ascii else Digits()
        self._words = Static(classes="big--words", markup=False)
        self._shown = ("", "")

    def compose(self) -> ComposeResult:
        yield self._digits
        yield self._words

    def show(self, number: str, words: str) -> None:
        if (number, words) == self._shown:
            return
        self._shown = (number, words)
        if isinstance(self._digits, Digits):
            self._digits.update(number)
        else:
            self._digits.update(Text(number, "bold"))
        self._words.update(words)
